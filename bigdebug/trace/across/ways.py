"""Ways: how steps count the files that they read and wrote. An index by files for each step, made when it is first asked for: a step may have ten thousand."""

from __future__ import annotations

from bigdebug.trace.across.located import Extent, Located
from bigdebug.trace.across.paths import key_of
from bigdebug.trace.across.step import Step


class Ways:
    """The ways of steps for as long as one question takes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], dict[str, list[Extent]]] = {}

    def read(self, step: Step, found: Located) -> Extent:
        """How a step that read a file counts it; of several ways, that which ``found`` is counted in."""
        return _like(self._of(step, False, found), found)

    def wrote(self, step: Step, found: Located) -> Extent:
        """The same for one that wrote it."""
        return _like(self._of(step, True, found), found)

    def names(self, step: Step, written: bool, found: Located) -> list[Extent]:
        """The same for each name by which a step knows the file: there may be links to it."""
        ways = self._of(step, written, found)
        paths = dict.fromkeys(extent.path for extent in ways)
        return [_like([extent for extent in ways if extent.path == path], found) for path in paths] or [Extent(found.path, found.unit)]

    def _of(self, step: Step, written: bool, found: Located) -> list[Extent]:
        name = step.id, written
        if name not in self._known:
            made: dict[str, list[Extent]] = {}
            for extent in step.writes if written else step.reads:
                made.setdefault(key_of(extent.path), []).append(extent)
            self._known[name] = made
        return self._known[name].get(key_of(found.path), [])


def _like(ways: list[Extent], found: Located) -> Extent:
    return next((extent for extent in ways if extent.unit is found.unit), ways[0] if ways else Extent(found.path, found.unit))
