"""Named: what the code of a function names outside itself, and what it gives to that, read off its instructions."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from types import CodeType
from typing import Any

from bigdebug.actors.codes import codes_in

_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_LOCALS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_STORES = ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL")
_EVALUATED = re.compile(r"@([^\W\d]\w*)")
"""What ``eval`` and ``query`` of pandas take from the globals of who calls them."""
_SETS = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_ATTRIBUTES = _SETS | {"LOAD_ATTR", "LOAD_METHOD"}
_TWICE = frozenset(("COPY", "DUP_TOP"))
"""What takes the same once more: ``a.b += 1`` is ``a``, taken twice, the sum, the two in their other order, and the attribute that is given."""
_TURNED = frozenset(("SWAP", "ROT_TWO"))
_SEVERAL = re.compile("(?:LOAD|STORE)_FAST")


@dataclass(frozen=True)
class Named:
    """What a code names, and the codes within it."""

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    """Modules; those that are named from where the code is have their dots before them."""
    imported: frozenset[tuple[str, str]]
    """What it calls that which it imports, and where that is."""
    whole: frozenset[str]
    """Globals, and what it is given, imports or has of the functions around it, of which it takes more than attributes."""
    marked: frozenset[str]
    """Those to which, or to an attribute of which, it gives an attribute, or of which it takes all; also by another name."""
    sets: frozenset[str]
    """Attributes that it gives to something."""
    stores: frozenset[str]
    """Globals, and variables of the functions around it, to which it gives another value."""


def named(code: CodeType) -> Named:
    """What a code names. Takes 50 microseconds for ten lines."""
    reader = _Reader(code)
    for inner in codes_in(code):
        reader.read(list(_steps(inner)))
    return Named(**{name: frozenset(each) for name, each in reader.found.items()})


class _Reader:
    """What was found in codes so far. ``_held`` has, by each local name, all that is outside and may have this name: an argument, an import, a global, or an attribute of one. (What a name is given last it may not have yet.)"""

    def __init__(self, code: CodeType) -> None:
        self.found: dict[str, set[Any]] = {each.name: set() for each in fields(Named)}
        self._free = code.co_freevars
        self._held = {name: {name} for name in (*code.co_freevars, *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])}

    def read(self, steps: list[tuple[str, Any]]) -> None:
        """Add what one code does."""
        found, taken = self.found, _Taken()
        roots: Iterable[str] = ()
        twice = set[str]()
        for at, (kind, value) in enumerate(steps):
            name, after = str(value), steps[at + 1][0] if at + 1 < len(steps) else ""
            before, roots = roots, ()
            if kind in _GLOBALS or (kind.startswith(_LOCALS) and name in self._held):
                roots = (name,) if kind in _GLOBALS else self._held[name]
                found["globals"].update(roots if kind in _GLOBALS else ())
                found["whole"].update(() if after in _ATTRIBUTES else roots)
            elif kind in _ATTRIBUTES:
                roots = before
                found["attributes"].add(name)
                if kind in _SETS:
                    found["sets"].add(name)
                    found["marked"].update(twice if steps[at - 1][0] in _TURNED else roots)
                elif name == "__dict__":
                    found["marked"].update(roots)
            elif kind in _TWICE:
                roots = before
                twice.update(roots)
            elif kind in _STORES:
                if taken.path:
                    found["imported"].add((name, taken.path))
                    before = (name,)
                if before:
                    self._held.setdefault(name, set()).update(before)
                taken.path = ""
            elif kind == "IMPORT_NAME":
                level, some = steps[at - 2][1], steps[at - 1][1]
                taken = _Taken("." * level + name, bool(some))
                found["imports"].add("." * level + name)
            elif kind == "LOAD_CONST" and type(value) is str:
                found["globals"].update(_EVALUATED.findall(value))
            elif kind in ("LOAD_SUPER_ATTR", "IMPORT_FROM"):
                found["attributes"].add(name)
                if kind == "IMPORT_FROM":
                    taken.take(name)
            self._stores(kind, name)

    def _stores(self, kind: str, name: str) -> None:
        if kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            self.found["globals"].add(name)
            self.found["stores"].add(name)
        elif kind in ("STORE_DEREF", "DELETE_DEREF") and name in self._free:
            self.found["stores"].add(name)


class _Taken:
    """Where what was imported last is, until it has a name. ``some`` names are taken out of a module; or else the module itself, by its first name or as another one, level by level."""

    def __init__(self, module: str = "", some: bool = False) -> None:
        self._some = some
        self._within = module if some else module.partition(".")[0]
        self.path = "" if some else self._within

    def take(self, name: str) -> None:
        """This of the module."""
        self.path = self._within + ("" if self._within.endswith(".") else ".") + name
        if not self._some:
            self._within = self.path


def _steps(code: CodeType) -> Iterator[tuple[str, Any]]:
    """What a code does, step by step; two that newer Pythons do at once are two."""
    for each in dis.get_instructions(code):
        several = _SEVERAL.findall(each.opname) if type(each.argval) is tuple else ()
        if len(several) > 1:
            yield from zip(several, each.argval)
        elif each.opname not in ("CACHE", "EXTENDED_ARG", "PRECALL", "NOP"):
            yield each.opname, each.argval
