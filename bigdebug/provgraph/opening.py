"""What is in a directory that bigdebug wrote: a session's runs, or a provenance graph. Opened without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bigdebug.provgraph.graph import ProvenanceGraph
    from bigdebug.trace.saved import SavedSession

MANIFEST = "provenance.json"
"""The file that a directory with an index has, and is written last."""


def open_saved(path: str | os.PathLike[str], trusted: bool = False) -> SavedSession | ProvenanceGraph:
    """The session that ``dbg.save`` wrote, or the provenance graph that ``bigdebug.provenance`` built. Raises StoreError for what is neither.

    Opening runs nothing that is in it. ``trusted`` says that records of which only a pickle tells may be loaded from it, which runs what the pickle says: say it of no directory that
    somebody else may have written. Without it such records are texts.
    """
    if isinstance(path, (str, os.PathLike)) and (Path(path) / MANIFEST).exists():
        from bigdebug.provgraph.graph import opened

        return opened(path)
    from bigdebug.trace.saved import open_session

    return open_session(path, trusted)
