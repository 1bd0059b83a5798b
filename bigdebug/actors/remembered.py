"""Remembered: what a function remembers: what its variables, its defaults and the globals that its code names hold, and what is in these."""

from __future__ import annotations

import gc
import sys
from collections import ChainMap, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import _lru_cache_wrapper, partial
from io import IOBase
from itertools import islice
from types import BuiltinMethodType, CellType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from bigdebug.actors.codes import library
from bigdebug.actors.decorated import Decorated
from bigdebug.actors.fixed import ATOMS, all_atoms
from bigdebug.actors.named import named
from bigdebug.actors.shared import filled

_MOST = 10_000
"""Objects that are looked at: what a function remembers may be a large model."""

_MOST_OF_ONE = 1_000
"""Of these, within one collection: where there are very many, they are alike."""

_MAKING = frozenset(("__new__", "__init__", "__init_subclass__", "__set_name__", "__setstate__", "__reduce__", "__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__", "__del__"))
"""Methods of a class that are over, or not yet there, when one of its objects is used."""


def remembered(values: Iterable[Any]) -> Iterator[Any]:
    """These, and all that they remember, the nearest first: of functions, what they name and hold; of collections and objects of the user's, what is in them, and the methods that are named
    anywhere; of iterators, what they go through. Of packages that are installed, nothing further but that. Of very many objects, the nearest ones, and the first ones of a collection.
    """
    todo, seen, found = deque(values), dict[int, Any](), _Named()
    while len(seen) < _MOST:
        todo = todo or deque(each for each in found.methods() if id(each) not in seen)
        if not todo:
            return
        value = todo.popleft()
        if id(value) not in seen and type(value) not in ATOMS:
            seen[id(value)] = value  # held, or its id may become another's
            yield value
            todo.extend(islice(_within(value, found), 2 * _MOST_OF_ONE))


def scope_of(value: Any) -> tuple[CodeType, Mapping[str, Any]] | None:
    """The code of a function, or of a generator that is not over, and what its names stand for; None for what is neither."""
    if isinstance(value, FunctionType):
        code, around = value.__code__, value.__closure__
        return code, ChainMap({name: cell.cell_contents for name, cell in zip(code.co_freevars, around) if filled(cell)}, value.__globals__) if around else value.__globals__
    if isinstance(value, GeneratorType) and value.gi_frame is not None:
        return value.gi_code, value.gi_frame.f_globals
    return None


_COLLECTIONS = (dict, list, tuple, set, frozenset, deque)


class _Named:
    """Attributes that are named by the codes that were met, and classes of the user's, whose methods these may be."""

    def __init__(self) -> None:
        self.attributes = set[str]()
        self._classes: dict[type[Any], bool] = {}
        self._libraries: dict[type[Any], bool] = {}

    def library(self, kind: type[Any]) -> bool:
        """Whether a class is no user's."""
        found = self._libraries.get(kind)
        if found is None:
            found = self._libraries[kind] = library(kind.__module__)
        return found

    def meet(self, kind: type[Any], made: bool) -> None:
        """A class, of which objects may be ``made``."""
        if self._classes.get(kind) in (True, made):
            return
        for each in kind.__mro__:
            if not library(each.__module__):
                self._classes[each] = self._classes.get(each, False) or made

    def methods(self) -> Iterator[Any]:
        """Those that may be called: by their name, or by Python."""
        for kind, made in self._classes.items():
            for name, each in vars(kind).items():
                if name in self.attributes or (name.startswith("__") and (made or name not in _MAKING)):
                    yield from (inner for inner in (each, *(getattr(each, part, None) for part in ("__func__", "fget", "func"))) if isinstance(inner, (FunctionType, Decorated)))


def _within(value: Any, found: _Named) -> Iterator[Any]:
    kind, scope = type(value), scope_of(value)
    if scope is not None:
        if not library(scope[1].get("__name__") if kind is GeneratorType else value.__module__):
            yield from _of_code(value, *scope, found)
    elif isinstance(value, (Decorated, _lru_cache_wrapper)):
        yield value.function if isinstance(value, Decorated) else value.__wrapped__
    elif isinstance(value, (MethodType, BuiltinMethodType)):
        yield from (value.__self__, getattr(value, "__func__", None))
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif kind in (dict, list, tuple, set, frozenset):
        for each in (value, value.values()) if kind is dict else (value,):
            few = [*islice(each, _MOST_OF_ONE)]
            yield from () if all_atoms(few) else few
    elif isinstance(value, type):
        found.meet(value, made=True)
    elif not found.library(kind) or ((hasattr(kind, "__next__") or kind.__module__ == "itertools") and not issubclass(kind, IOBase)) or issubclass(kind, _COLLECTIONS):
        found.meet(kind, made=False)
        yield from (each for each in gc.get_referents(value) if each is not kind and type(each) is not ModuleType)  # no code of the user's is asked, and iterators in C say what they go through to nobody else
    elif kind.__dictoffset__ and not issubclass(kind, (ModuleType, IOBase)):  # what a package wraps a file in holds it
        held = gc.get_referents(value)
        yield from (each for part in (held, *(inner.values() for inner in held if type(inner) is dict)) for each in part if issubclass(type(each), IOBase))


def _locals(generator: Any) -> Iterator[Any]:
    """What the variables of a generator hold, and its function. Its frame is not asked for them: it would hold from then on what the generator lets go."""
    frame = generator.gi_frame
    held = gc.get_referents(generator if sys.version_info >= (3, 11) else frame)
    scopes = (frame.f_globals, frame.f_builtins)
    for each in held:
        if isinstance(each, CellType):
            yield from (each.cell_contents,) if filled(each) else ()
        elif not isinstance(each, (FrameType, CodeType)) and not any(each is scope for scope in scopes):
            yield each


def _of_code(value: Any, code: CodeType, scope: Mapping[str, Any], found: _Named) -> Iterator[Any]:
    names = named(code)
    found.attributes |= names.attributes
    if isinstance(value, FunctionType):
        yield from (value.__defaults__ or ())
        yield from (value.__kwdefaults__ or {}).values()
        yield from (cell.cell_contents for cell in value.__closure__ or () if filled(cell))
    else:
        yield from _locals(value)
    for name in {*names.globals, *code.co_freevars} & scope.keys():
        each = scope[name]
        yield each
        if type(each) is ModuleType and not library(each.__name__):
            yield from (vars(each)[inner] for inner in names.attributes if inner in vars(each))
