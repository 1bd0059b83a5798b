"""Ways: how steps count the files that they read and wrote. An index by files for each step, made when it is first asked for: a step may have ten thousand."""

from __future__ import annotations

from dataclasses import replace

from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import Extent, Located
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.stamps import same_content
from bigdebug.trace.across.step import Step, failed_in, named
from bigdebug.trace.across.units import same_count


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

    def several(self, step: Step, written: bool, found: Located) -> bool:
        """Whether a step read, or wrote, the file in ways that count otherwise, or as it was at several times: then its records are not known by their positions."""
        ways = self._of(step, written, found)
        return not all(alike(ways[0], other) for other in ways[1:])

    def versions(self, step: Step, found: Located) -> list[Extent]:
        """Each way in which a step read a file, if there are several that differ; else that which ``found`` is counted in."""
        return self._of(step, False, found) if self.several(step, False, found) else [self.read(step, found)]

    def names(self, step: Step, written: bool, found: Located) -> list[Extent]:
        """The same for each name by which a step knows the file: there may be links to it. Raises UntraceableError where there are several ways that differ."""
        ways = self._of(step, written, found)
        if self.several(step, written, found):
            raise UntraceableError(severally(step, written, found), value=found.path, remedy="Put a step behind each reading.")
        paths = dict.fromkeys(extent.path for extent in ways)
        return [_like([extent for extent in ways if extent.path == path], found) for path in paths] or [Extent(found.path, found.unit)]

    def _of(self, step: Step, written: bool, found: Located) -> list[Extent]:
        name = step.id, written
        if name not in self._known:
            made: dict[str, list[Extent]] = {}
            for extent in step.writes if written else (*step.reads, *failed_in(step)):
                made.setdefault(key_of(extent.path), []).append(extent)
            self._known[name] = made
        return self._known[name].get(key_of(found.path), [])


def severally(step: Step, written: bool, found: Located) -> str:
    """What is said of a file that a step has in several ways."""
    return f"{named(step)} {'wrote' if written else 'read'} {short(found.path)} in several ways, or as it was at several times"


def alike(one: Extent, other: Extent) -> bool:
    """Whether position n of one is the same record of the other: both are of one file, as it was at one time."""
    if one.stamp is not None and other.stamp is not None and not same_content(one.stamp, other.stamp):
        return False
    return replace(other, path=one.path, stamp=one.stamp, rows=one.rows) == one or same_count(one, other)


def _like(ways: list[Extent], found: Located) -> Extent:
    return next((extent for extent in ways if extent.unit is found.unit), ways[0] if ways else Extent(found.path, found.unit))
