"""Named: what the code of a function names outside itself, read off its instructions."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import CodeType

from bigdebug.actors.codes import codes_in

_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_EVALUATED = re.compile(r"@([^\W\d]\w*)")
"""What ``eval`` and ``query`` of pandas take from the globals of who calls them."""
_SETS = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_ATTRIBUTES = _SETS | {"LOAD_ATTR", "LOAD_METHOD"}
_KEEPS = ("STORE_FAST", "STORE_DEREF")
_TAKES = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_TWICE = ("COPY", "DUP_TOP")
_SEVERAL = re.compile("(?:LOAD|STORE)_FAST")


@dataclass(frozen=True)
class Named:
    """What a code names, and the codes within it."""

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    whole: frozenset[str]
    """Globals, and modules that it imports, of which it takes more than attributes."""
    marked: frozenset[str]
    """Globals to which, or to an attribute of which, it gives an attribute; and such modules that it imports."""
    sets: frozenset[str]
    """Attributes that it gives to something."""
    stores: frozenset[str]
    """Globals, and variables of the functions around it, to which it gives another value."""


def imported(module: str) -> str:
    """What a module that a code imports is called among what is ``whole`` and ``marked``: no global has such a name."""
    return f"import {module}"


def named(code: CodeType) -> Named:
    """What a code names. Takes 50 microseconds for ten lines."""
    found: dict[str, set[str]] = {each.name: set() for each in fields(Named)}
    held: dict[str, str] = {}  # what a variable was given: a global, a module that was imported, or an attribute of one
    for inner in codes_in(code):
        steps = list(_steps(inner))
        root, module, last = "", "", ""
        again: dict[str, str] = {}  # attributes that are read to be given anew: x.a += 1
        for (kind, value), after in zip(steps, [*(kind for kind, _ in steps[1:]), ""]):
            name, before = str(value), root
            root = ""
            if kind in _GLOBALS:
                root = name
                found["globals"].add(name)
                if after not in _ATTRIBUTES:
                    found["whole"].add(name)
            elif kind in _ATTRIBUTES:
                found["attributes"].add(name)
                if kind in _SETS:
                    found["sets"].add(name)
                    found["marked"].update(filter(None, [before or again.get(name, "")]))
                elif last in _TWICE and before:
                    again[name] = before
                root = before
            elif kind.startswith(_TAKES):
                root = held.get(name, "")
                if root.startswith(imported("")) and after not in _ATTRIBUTES:
                    found["whole"].add(root)
            elif kind in _KEEPS:
                held.update({name: before} if before else {})
                if kind == "STORE_DEREF" and name in code.co_freevars:
                    found["stores"].add(name)
            elif kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                found["globals"].add(name)
                found["stores"].add(name)
            elif kind == "DELETE_DEREF" and name in code.co_freevars:
                found["stores"].add(name)
            elif kind == "LOAD_CONST" and type(value) is str:
                found["globals"].update(_EVALUATED.findall(value))
            elif kind == "IMPORT_NAME":
                found["imports"].add(name)
                root = module = imported(name)
            elif kind == "IMPORT_FROM":
                found["attributes"].add(name)
                root = module
            elif kind == "LOAD_SUPER_ATTR":
                found["attributes"].add(name)
            elif kind in _TWICE or (kind in ("SWAP", "ROT_TWO", "POP_TOP") and before == module):  # import a.b as c
                root = before
            last = kind
    return Named(**{name: frozenset(each) for name, each in found.items()})


def _steps(code: CodeType) -> Iterator[tuple[str, object]]:
    """What a code does, step by step; two that newer Pythons do at once are two."""
    for each in dis.get_instructions(code):
        several = _SEVERAL.findall(each.opname) if type(each.argval) is tuple else ()
        if len(several) > 1:
            yield from zip(several, each.argval)
        elif each.opname not in ("CACHE", "EXTENDED_ARG", "PRECALL", "NOP"):
            yield each.opname, each.argval
