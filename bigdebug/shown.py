"""Values of the user as text: bounded in length and time, never an error of theirs, and without what they call secret."""

from __future__ import annotations

import os
import re
import reprlib
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from itertools import islice
from typing import Any

from bigdebug.outside import from_outside

LONGEST = 2_000
"""Characters that a value is shown with at most, and values within it that are asked for theirs."""

_SHORT, _SMALL = 200, 10**200
"""Strings that are not longer, and numbers that are smaller, are shown as they are, whatever characters they have."""

_WALKED = {tuple: "tuple", list: "list", dict: "dict", set: "set", frozenset: "frozenset", deque: "deque", str: "str", int: "int"}
"""Types whose items or characters are walked, also in classes derived from them that keep their ``__repr__``."""


MASK = "BIGDEBUG_MASK"
"""The variable of the environment that has the pattern of secrets, in this process and in workers."""

MASKED = "***"

_secrets: re.Pattern[str] | None = re.compile(os.environ[MASK]) if os.environ.get(MASK) else None
"""What is secret is so in all sessions of a process: text of one may be shown by another."""


def mask(pattern: str | None) -> None:
    """From now on show *** where the regular expression matches; None: show everything. Raises re.error for what is none."""
    global _secrets  # noqa: PLW0603
    _secrets = None if pattern is None else re.compile(pattern)


def masking() -> str | None:
    """The pattern of what is not shown."""
    return None if _secrets is None else _secrets.pattern


def masked(text: str) -> str:
    """The text, with *** in the place of secrets."""
    return text if _secrets is None else _secrets.sub(MASKED, text)


_PLAIN = {str, int, float, bool, type(None)}
"""Types whose short values need no walk: of thousands of crashes, most of what is shown is of these."""


def shown(value: Any) -> str:
    """``repr(value)`` if that is short; else as much of it as a reader needs, with ``...`` where something is left out.

    An object whose own ``__repr__`` raises is shown by its type and the error, but what that raises from outside is raised. The answer is a plain str, whatever
    ``__repr__`` gave: the methods of a subclass could lie to those who escape it.
    """
    kind = type(value)
    if kind in _PLAIN and (kind is not str or len(value) <= _SHORT) and (kind is not int or -_SMALL < value < _SMALL):
        return masked(repr(masked(value) if kind is str else value))
    return _shortened(masked("".join([_Bounded().repr(value)])))


def plain(text: str) -> str:
    """``text`` without secrets, and with everything that a terminal or a page would obey, not show, written as an escape."""
    text = masked(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def by_fields(value: Any) -> str:
    """A dataclass as Python shows it, ``Class(field=value, ...)``, but with what its fields hold ``shown``, and plain: for classes that hold values of the user."""
    told = (f"{field.name}={shown(getattr(value, field.name))}" for field in fields(value) if field.repr)
    return plain(f"{_name(type(value))}({', '.join(told)})")


_called: Callable[[str], str | None] | None = None
"""Says what the user calls a file, if that is something else than its path: a cell of a notebook is a file that nobody has seen."""


def call_files(naming: Callable[[str], str | None] | None) -> None:
    """From now on call files what ``naming`` says, "Cell In[3]"; by their paths where it says None, or if it is None."""
    global _called  # noqa: PLW0603
    _called = naming


def place(file: str, line: int) -> str:
    """A line of the user's program, as he finds it: "job.py:12", or "Cell In[3], line 2"."""
    name = None if _called is None else _called(file)
    return f"{file}:{line}" if name is None else f"{name}, line {line}"


def counted(number: int, one: str = "record", many: str | None = None) -> str:
    """So many records, or what else is told, in words."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or f'{one}s'}"


_BOUNDS = {
    **vars(reprlib.Repr()), "maxlevel": 8,
    **dict.fromkeys(("maxtuple", "maxlist", "maxdict", "maxset", "maxfrozenset", "maxdeque"), 100),
    **dict.fromkeys(("maxstring", "maxlong", "maxother"), LONGEST),
}


class _Bounded(reprlib.Repr):
    """reprlib's walk through containers with a bound for all of it, which chooses by type and not by its name."""

    def __init__(self) -> None:
        vars(self).update(_BOUNDS)
        self._left = LONGEST

    def repr1(self, x: Any, level: int) -> str:
        self._left -= 1
        if self._left < 0:
            return "..."
        kind = type(x)
        try:
            walked = next((name for known, name in _WALKED.items() if kind.__repr__ is known.__repr__), None)
            if walked is None:
                return _frame(x) if _is_frame(kind) else _shortened(masked(repr(x)))
            text: str = getattr(self, f"repr_{walked}")(x, level)
            return text
        except BaseException as error:  # it is the user's code that runs here, and libraries of his panic
            if from_outside(error):
                raise
            return f"<{_name(kind)} whose repr raised {_name(type(error))}>"

    def repr_str(self, x: str, level: int) -> str:
        """What is secret goes before the string is cut: the rest of it might not be known for what it is."""
        return super().repr_str(masked(x), level)

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """In the dict's own order: reprlib sorts the keys."""
        return self._braced(x, level, lambda: (f"{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}" for k, v in x.items()))

    def repr_set(self, x: set[Any], level: int) -> str:
        """In the set's own order: reprlib sorts all of it."""
        return self._braced(x, level, lambda: (self.repr1(item, level - 1) for item in x)) if x else "set()"

    def repr_frozenset(self, x: frozenset[Any], level: int) -> str:
        return f"frozenset({self.repr_set(x, level) if x else ''})"  # type: ignore[arg-type]

    def _braced(self, x: Collection[Any], level: int, pieces: Any) -> str:
        if level <= 0 and x:
            return "{...}"
        found: Iterable[str] = islice(pieces(), self.maxdict)
        return "{" + ", ".join([*found] + ["..."] * (len(x) > self.maxdict)) + "}"


def _is_frame(kind: type) -> bool:
    return _name(kind) == "DataFrame" and str(kind.__module__).startswith("pyspark.")


def _frame(frame: Any) -> str:
    """As PySpark shows it by default: ``spark.sql.repl.eagerEval.enabled`` runs the query of what is shown."""
    return _shortened(f"DataFrame[{', '.join(f'{name}: {kind}' for name, kind in frame.dtypes)}]")


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _name(kind: type) -> str:
    """The name of a class, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))
