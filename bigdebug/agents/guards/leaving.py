"""Leaving out: records on which a function is known to crash, or to end its worker, and which it is therefore not given again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bigdebug.agents.frames import Dumps


class Leaving:
    """What is known to be raised of records of a partition, by their positions. A record is one of these if its pickle is the same, too."""

    def __init__(self, known: Iterable[tuple[int, bytes, BaseException]] = (), dumps: Dumps = bytes) -> None:
        self._dumps = dumps
        self._known: dict[int, dict[bytes, BaseException]] = {}
        for position, record, problem in known:
            self._known.setdefault(position, {})[record] = problem

    def __bool__(self) -> bool:
        return bool(self._known)

    def problem(self, position: int, record: Any) -> BaseException | None:
        """What is known to be raised of a record at a position, if anything is."""
        here = self._known.get(position)
        return None if here is None else here.get(self._pickled(record))

    def check(self, position: int, record: Any) -> None:
        """Raise what is known to be raised of a record at a position."""
        problem = self.problem(position, record)
        if problem is not None:
            raise problem

    def before(self, function: Callable[[Any], Any], at: Callable[[], int]) -> Callable[[Any], Any]:
        """The function, which raises what is known of the record that is ``at`` a position instead of being called on it."""
        if not self:
            return function

        def checked(record: Any) -> Any:
            self.check(at(), record)
            return function(record)

        return checked

    def _pickled(self, record: Any) -> bytes:
        try:
            return self._dumps(record)
        except Exception:  # it need not be picklable, and is none of those that are known
            return b""


NOTHING = Leaving()
