"""References: which names of others the code of a function refers to, and whether it does anything else than to refer to them."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from itertools import takewhile
from types import CodeType
from typing import NamedTuple

_CHANGES = frozenset((
    "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME", "IMPORT_FROM", "IMPORT_NAME", "IMPORT_STAR", "LOAD_BUILD_CLASS", "LOAD_NAME", "LOAD_SUPER_ATTR", "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME",
))
"""What binds names of others, or attributes, imports, or makes classes."""

_ENCLOSED = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF"))
_BOUND = frozenset(("STORE_DEREF", "DELETE_DEREF"))
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_ANYWHERE = frozenset(("astimezone", "fromtimestamp", "now", "strftime", "strptime", "timestamp", "today", "utcnow"))
"""Methods of dates that tell the time, or hang on where and in which language the process is."""


class Reference(NamedTuple):
    """A name, and the attributes that are taken of it. ``enclosed`` is one of an enclosing function, others are global."""

    name: str
    enclosed: bool
    attributes: tuple[str, ...]


def references(code: CodeType) -> list[Reference] | None:
    """What a function refers to, functions within it included; None if it also binds what is not its own, or takes attributes that may be anything."""
    found: list[Reference] = []
    for each in _within(code):
        steps = [step for step in dis.get_instructions(each) if step.opname not in ("EXTENDED_ARG", "CACHE", "NOP")]
        taken = {step.argval for step in steps if step.opname in _ATTRIBUTES}
        if taken & _ANYWHERE or any(name.startswith("_") for name in taken) or any(step.opname in _CHANGES for step in steps):
            return None
        for at, step in enumerate(steps):
            free = step.argval in code.co_freevars
            if step.opname in _BOUND and free:
                return None
            if step.opname == "LOAD_GLOBAL" or (step.opname in _ENCLOSED and free):
                behind = takewhile(lambda following: following.opname in _ATTRIBUTES, steps[at + 1:])
                found.append(Reference(step.argval, step.opname != "LOAD_GLOBAL", tuple(following.argval for following in behind)))
    return found


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)
