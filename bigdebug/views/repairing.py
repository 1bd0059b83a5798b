"""Repairing: a record field by field, as texts that somebody edits, and the record that comes of them.

What is edited is the text of fields, and nothing in it is run: a string is its text, a date or a number is what it says, anything else a
literal of Python's. What has no such text is repaired in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from bigdebug.errors import ReplayError
from bigdebug.shown import masked, shown
from bigdebug.trace.culprit import Described
from bigdebug.trace.page import RECORD, fields_of

EDITABLE = 10_000
"""Characters of a text that is edited, and values in it that are looked at."""

TEXT, LITERAL = "text", "a Python literal"

_IN_PYTHON = "Repair the record in Python: run.resume(repair={culprit: record})."


class _Form(NamedTuple):
    """How values of a type are written, and read."""

    called: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]


_FORMS: Mapping[type, _Form] = {
    float: _Form("a number", repr, float),
    Decimal: _Form("a decimal number", str, Decimal),
    date: _Form("a date", date.isoformat, date.fromisoformat),
    datetime: _Form("a date and time", datetime.isoformat, datetime.fromisoformat),
}
_LITERAL = _Form(LITERAL, repr, ast.literal_eval)

_LEAVES = (int, float, complex, bool, bytes, str, type(None))
_UNREADABLE = (ValueError, SyntaxError, TypeError, ArithmeticError, MemoryError, RecursionError)


@dataclass(frozen=True)
class Field:
    """A field of a record, or the record itself where it has none."""

    name: str
    value: Any
    whole: bool

    @cached_property
    def text(self) -> str | None:
        """What somebody edits; None if it cannot be edited as text."""
        return None if self.why is not None else self.value if self.reads == TEXT else self._form.write(self.value)

    @property
    def reads(self) -> str:
        """What the text is read as."""
        return TEXT if type(self.value) is str and _typed(self.value) else self._form.called

    @cached_property
    def why(self) -> str | None:
        """Why it cannot be edited as text; None if it can."""
        if isinstance(self.value, Described):
            return "It could not leave the task that it was in, and this is its text."
        if not _small(self.value):
            return f"It is longer than {EDITABLE:,} characters." if type(self.value) in (str, bytes) else f"No text is read as this value of type {type(self.value).__name__}."
        written = self._form.write(self.value)
        if len(written) > EDITABLE:
            return f"It is longer than {EDITABLE:,} characters."
        if masked(written) != written or (type(self.value) is str and masked(self.value) != self.value):
            return "It has something secret in it, which is not shown."
        return None if self.reads == TEXT or self._comes_back(written) else f"No text is read as this value of type {type(self.value).__name__}."

    def read(self, text: str | None) -> Any:
        """The value that a text says; None for no text. Raises ReplayError for what cannot be read as what the field has."""
        if self.why is not None:
            raise ReplayError(f"{self.name} is not edited as text. {self.why.rstrip('.')}", remedy=_IN_PYTHON)
        if text is None or (not self.whole and self.reads != TEXT and text.strip() == "None"):
            return self._none()
        if self.reads == TEXT:
            return text
        try:
            found = self._form.read(text.strip())
        except _UNREADABLE as problem:
            hint = ' Text is written in quotes: "like this".' if self._form is _LITERAL else ""
            raise ReplayError(f"{self.name} cannot be read as {self.reads}", value=text, remedy=f"{_IN_PYTHON}{hint}") from problem
        if self.whole and type(found) is not type(self.value):
            raise ReplayError(
                f"The record is of type {type(self.value).__name__}, and this one of type {type(found).__name__}", value=text, remedy=_IN_PYTHON,
            )
        return found

    def _none(self) -> None:
        if self.whole:
            raise ReplayError(f"The record is of type {type(self.value).__name__}, and None is not", remedy=_IN_PYTHON)

    @property
    def _form(self) -> _Form:
        return _FORMS.get(type(self.value), _LITERAL)

    def _comes_back(self, written: str) -> bool:
        try:
            found = self._form.read(written)
        except _UNREADABLE:
            return False
        return type(found) is type(self.value) and repr(found) == repr(self.value)


def fields(record: Any) -> list[Field]:
    """The fields of a tuple, a row or a dict; of anything else there is one, the record."""
    if type(record) is dict and record:
        return [Field(key if type(key) is str else shown(key), value, whole=False) for key, value in record.items()]
    names, [values] = fields_of([record])
    return [Field(name, value, whole=names == RECORD and values[0] is record) for name, value in zip(names, values, strict=True)]


def repaired(record: Any, edits: Mapping[int, str | None]) -> Any:
    """The record with other texts in some of its fields, by their numbers: of the same type, with the same names. Others stay what they are.

    Raises ReplayError for a text that cannot be read as its field, and for a record that cannot be made anew.
    """
    known = fields(record)
    if gone := next((number for number in edits if not 0 <= number < len(known)), None):
        raise ReplayError(f"The record has {len(known):,} fields", value=gone, remedy="Reload the page.")
    values = [field.read(edits[number]) if number in edits else field.value for number, field in enumerate(known)]
    if len(known) == 1 and known[0].whole:
        return values[0]
    if type(record) is dict:
        return dict(zip(record, values, strict=True))
    return _like(record, values)


def _like(record: Any, values: list[Any]) -> Any:
    """A tuple of the class of ``record``, with what that one keeps beside its fields: the names of a row."""
    try:
        made = tuple.__new__(type(record), values)
        if hasattr(record, "__dict__"):
            vars(made).update(vars(record))
        return made
    except (TypeError, AttributeError) as problem:
        raise ReplayError(f"A {type(record).__name__} is not made of its fields", remedy=_IN_PYTHON) from problem


def _typed(text: str) -> bool:
    """Whether a text comes back from a browser as it went there: other characters are lost on the way, or nobody sees them."""
    return all(character.isprintable() or character in "\n\t" for character in text[: EDITABLE + 1])


def _small(value: Any) -> bool:
    """Whether a value is plain data, and as little as somebody can edit."""
    todo, looked = [value], 0
    while todo:
        each = todo.pop()
        kind = type(each)
        looked += 1 + (len(each) if kind in (str, bytes, tuple, list, set, dict) else 0)
        if looked > EDITABLE + 1 or (kind is int and abs(each) >= 10**200):
            return False
        if kind in (tuple, list, set):
            todo += each
        elif kind is dict:
            todo += [*each.keys(), *each.values()]
        elif kind not in _LEAVES and not (each is value and kind in _FORMS):
            return False
    return True
