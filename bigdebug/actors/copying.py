"""Copying: the actors that a saved session needs, beside its runs: then it is a pipeline wherever it is opened, and tells of what failed on the way."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from bigdebug.actors.actor import Home, home_of
from bigdebug.actors.actorstep import ActorStep
from bigdebug.actors.home import FAILED
from bigdebug.actors.opening import UncommittedStep, steps


def copy_joined(to: Path, paths: Collection[str], home: Home = None) -> list[str]:
    """Copy the committed actors that are joined with files into a new home: those that read or wrote one of them, or what such an actor read or wrote, and those that
    they are linked with; and those that failed, or were killed, when they had written, or had begun to read, one of these files. Gives their ids. A damaged actor is left out.

    Opens all actors of the home, and copies as many bytes as those take that are meant. Raises StoreErrors.
    """
    source = home_of(home)
    every = steps(source)
    known = {step.id: step for step in every if isinstance(step, ActorStep)}
    files = {name: {extent.path for extent in (*step.reads, *step.writes)} for name, step in known.items()}
    links = source.links()
    meant, reached = set[str](), set(paths)
    while True:
        linked = {other for pair in links for other in pair if meant.intersection(pair)}
        more = {name for name, touched in files.items() if name not in meant and (touched & reached or name in linked)}
        if not more:
            break
        meant |= more
        reached |= {path for name in more for path in files[name]}
    failed = {step.id for step in every if isinstance(step, UncommittedStep) and reached.intersection((*step.took, *(extent.path for extent in step.left)))}
    for name in sorted(meant | failed):
        for file in source.paths(name):
            if name in failed or file.parent == source.root / name:
                copy = to / file.relative_to(source.root)
                copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                if file.suffix == FAILED:  # what is secret may have been said since
                    copy.write_text(source.why_not(name)[1].masked().write(), encoding="utf-8")
                else:
                    shutil.copyfile(file, copy)
    for pair in links:
        if meant.issuperset(pair):
            (to / "links").mkdir(exist_ok=True, mode=0o700)
            (to / "links" / "@".join(pair)).touch()
    return sorted(meant | failed)
