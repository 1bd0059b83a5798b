"""What is in a directory that bigdebug wrote: a session's runs, or a provenance graph. Opened without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bigdebug.provgraph.opening import holds_graph

if TYPE_CHECKING:
    from bigdebug.provgraph.graph import ProvenanceGraph
    from bigdebug.trace.across.step import Step
    from bigdebug.trace.saved.session import SavedSession


def open_saved(path: str | os.PathLike[str], trusted: bool = False) -> SavedSession | ProvenanceGraph:
    """The session that ``dbg.save`` wrote, or the provenance graph that ``bigdebug.provenance`` built. Raises StoreError for what is neither.

    Opening runs nothing that is in it. ``trusted`` says that records of which only a pickle tells may be loaded from it, which runs what the pickle says: say it of no directory that
    somebody else may have written. Without it such records are texts.
    """
    if holds_graph(path):
        from bigdebug.provgraph.graph import opened

        return opened(path)
    from bigdebug.trace.saved.session import open_session

    session = open_session(path, trusted)
    session.others.append(lambda: _of_actors(session))
    return session


def _of_actors(session: SavedSession) -> Iterable[Step]:
    """What actors captured, those that were saved and this user's; imported when a pipeline is asked, for opening should be quick."""
    from bigdebug import actors

    saved = session.actors
    return [*(actors.steps(actors.ActorHome(saved, session.checked, session.files_of_actors)) if saved is not None else ()), *actors.steps()]
