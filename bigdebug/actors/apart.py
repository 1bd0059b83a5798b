"""Apart: copies of a function, and of all that it remembers, which share nothing with it that may change. What is not known to be copied wholly is not copied.

A function remembers in the variables of the functions around it, in globals that its code names, in defaults and attributes, in the object of a method, in generators of random numbers;
and so do the functions that it calls.
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import itertools
import types
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bigdebug.actors.codes import Untried, library, live
from bigdebug.actors.frames_apart import array_apart, pandas_apart
from bigdebug.actors.room import Room
from bigdebug.actors.rows_apart import rows_apart
from bigdebug.actors.shared import ATOMS, Shared, all_atoms, filled, fixed, slots, tells
from bigdebug.actors.spaces import Spaces
from bigdebug.shown import shown

_ITERATORS: tuple[type[Any], ...] = (type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")), itertools.count)
"""Iterators that tell where they are."""

_REDUCED = ("numpy", "pandas", "scipy", "sklearn", "bigdebug")
"""Packages besides Python's whose objects say all that is in them, piece by piece."""


class Apart:
    """Copies that belong together: what is the same object for the user is the same copy. Raises Untried, also if there is too much to copy."""

    def __init__(self, room: Room | None = None, met: Callable[[Any], None] = lambda _: None) -> None:
        """``met`` is told of frames."""
        self._charge = (room or Room()).charge
        self._met = met
        self._made: dict[int, Any] = {}
        self._held: list[Any] = []
        self._spaces = Spaces()
        self._shared = Shared()

    def of(self, value: Any) -> Any:
        """A copy; the value itself if nobody can change it."""
        try:
            return self._of(value)
        except Untried:
            raise
        except Exception as error:  # of a type's own code
            raise _uncopied(value, error) from error

    def of_rows(self, rows: Any) -> Any:
        """A copy of rows of a frame, which take no room of that for functions."""
        self._charge = Room().charge
        self._shared.watch(self._shared.cls(type(rows)))  # it is at hand for who has a frame
        return rows_apart(rows, self.of)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Within, the copies are used. Afterwards, classes have the attributes that they had before, and nothing is held: what the user lets go is gone at once, as it is without."""
        try:
            with self._shared.unchanged():
                yield
        finally:
            self._spaces.forget()

    # ---- by kinds ---------------------------------------------------------------------------------------------

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if kind in ATOMS:
            return value
        if id(value) in self._made:
            return self._made[id(value)]
        if isinstance(value, type):
            return self._shared.cls(value)
        make = _MAKERS.get(kind)
        if make is None and fixed(value):
            self._shared.cls(kind)
            return value
        self._charge(0)
        return self._copied(value) if make is None else make(self, value)

    def _copied(self, value: Any) -> Any:
        if isinstance(value, functools._lru_cache_wrapper):  # its cache is left behind
            return self._keep(value, functools.lru_cache(**value.cache_parameters())(self._of(value.__wrapped__)))
        if isinstance(value, np.memmap):
            raise Untried("an array that is a file cannot be copied")
        if isinstance(value, np.ndarray):
            self._charge(value.nbytes)
        self._met(value)
        found = pandas_apart(value, self._charge, self._of)
        return self._object(value) if found is None else self._keep(value, found)

    def _keep(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = made
        self._held.append(value)  # or its id may become another's
        return made

    # ---- collections ------------------------------------------------------------------------------------------

    def _list(self, value: Any) -> Any:
        made = self._keep(value, type(value)() if not isinstance(value, deque) else deque(maxlen=value.maxlen))
        self._charge(8 * len(value))
        made.extend(value if all_atoms(value) else map(self._of, list(value)))
        return made

    def _dict(self, value: Any) -> Any:
        made = self._keep(value, defaultdict(None) if isinstance(value, defaultdict) else type(value)())
        self._charge(100 * len(value))
        if isinstance(value, defaultdict):
            made.default_factory = self._of(value.default_factory)
        if all_atoms(value) and all_atoms(value.values()):
            made.update(value)
        else:
            for name, each in list(value.items()):
                made[self._of(name)] = self._of(each)
        return made

    def _set(self, value: Any) -> Any:
        self._charge(64 * len(value))
        if all_atoms(value):
            return self._keep(value, value.copy() if isinstance(value, set) else value)
        return self._keep(value, type(value)([self._of(each) for each in value]))

    def _tuple(self, value: Any) -> Any:
        self._charge(8 * len(value))
        made = tuple(map(self._of, value))
        if id(value) in self._made:  # it holds itself, by a list
            return self._made[id(value)]
        return self._keep(value, value if all(one is other for one, other in zip(made, value)) else made)

    def _bytearray(self, value: Any) -> Any:
        self._charge(len(value))
        return self._keep(value, bytearray(value))

    def _array(self, value: Any) -> Any:
        return self._keep(value, array_apart(value, self._charge, self._of))

    # ---- objects ----------------------------------------------------------------------------------------------

    def _object(self, value: Any) -> Any:
        """By what ``pickle`` would do, piece by piece; not by ``__deepcopy__``, of which some give the object itself."""
        kind = type(value)
        self._shared.cls(kind)
        if live(kind.__module__):
            raise Untried(f"a {kind.__name__} cannot be copied: it stands for something elsewhere")
        if hasattr(kind, "__del__"):
            raise Untried(f"a {kind.__name__} cannot be copied: it does something when it is no more")
        if tells(kind):
            return self._telling(value)
        own = next((each for each in kind.__mro__ if "__reduce_ex__" in vars(each) or "__reduce__" in vars(each)), object)
        plain = own is object and "__getstate__" not in [name for each in kind.__mro__[:-1] for name in vars(each)]
        if not (plain or kind in _ITERATORS or self._trusted(kind) or kind in copyreg.dispatch_table):
            raise Untried(f"a {kind.__name__} cannot be copied for certain")
        reduce = copyreg.dispatch_table.get(kind)
        try:
            told = _of_count(value) if kind is itertools.count else value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # of a type's own code
            raise _uncopied(value, error) from error
        if isinstance(told, str):
            if kind.__module__.partition(".")[0] == "numpy" and kind is not np.ufunc:  # a function
                return value
            raise Untried(f"there is one {kind.__name__} alone")
        return self._rebuilt(value, *told)

    def _telling(self, value: Any) -> Any:
        """A copy of what says itself what is copied of it: by all of its attributes, if they can be copied; else as it says, if it says how to make it whole, or only it can know. Raises Untried
        if it may be less, or if saying so changed it: then it is put back.
        """
        kind = type(value)
        if hasattr(kind, "__deepcopy__"):
            raise Untried(f"a {kind.__name__} cannot be copied for certain")
        plain = not any(library(each.__module__) and each.__module__ not in ("abc", "typing") for each in kind.__mro__[:-1])
        try:
            if plain:
                return self._attributes(value)
        except Untried:
            self._made.pop(id(value), None)
            if not hasattr(kind, "__setstate__"):
                raise
        before = dict(getattr(value, "__dict__", {}))
        told = value.__reduce_ex__(4)
        after = dict(getattr(value, "__dict__", {}))
        if before.keys() != after.keys() or any(after[name] is not each for name, each in before.items()):
            vars(value).clear()
            vars(value).update(before)
            raise Untried(f"a {kind.__name__} changes when it is copied")
        if isinstance(told, str):
            raise Untried(f"there is one {kind.__name__} alone")
        return self._rebuilt(value, *told)

    def _attributes(self, value: Any) -> Any:
        """A copy by its attributes, all of them."""
        kind = type(value)
        made = self._keep(value, object.__new__(kind))
        if hasattr(value, "__dict__"):
            vars(made).update({name: self._of(each) for name, each in vars(value).items()})
        for slot in slots(kind):
            with contextlib.suppress(AttributeError):  # it has no value yet
                slot.__set__(made, self._of(slot.__get__(value)))
        return made

    def _trusted(self, kind: type[Any]) -> bool:
        """Whether a class tells all that its objects are, as its own code says: those of Python and of the packages known, without iterators; and the user's."""
        top = kind.__module__.partition(".")[0]
        if not library(kind.__module__):
            return not hasattr(kind, "__deepcopy__")
        return (top in _REDUCED or top in ("functools", "operator", "collections", "types", "random", "datetime", "builtins", "io", "string", "statistics")) and not hasattr(kind, "__next__")

    def _rebuilt(self, value: Any, make: Callable[..., Any], args: tuple[Any, ...], state: Any = None, items: Any = None, pairs: Any = None, put: Any = None) -> Any:
        made = make(*map(self._of, args))
        if made is value:
            raise Untried(f"there is one {type(value).__name__} alone")
        self._keep(value, made)
        if state is not None:
            self._put(made, self._of(state), put)
        for each in items or ():
            made.append(self._of(each))
        for name, each in pairs or ():
            made[self._of(name)] = self._of(each)
        return made

    def _put(self, made: Any, state: Any, put: Any) -> None:
        if put is not None:
            put(made, state)
        elif hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                vars(made).update(attributes)
            for name, each in (slots or {}).items():
                object.__setattr__(made, name, each)

    # ---- functions --------------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> Any:
        theirs = library(function.__globals__.get("__name__"))
        if theirs and not function.__closure__:
            return function
        cells = tuple(self._cell(cell) for cell in function.__closure__ or ())
        scope = function.__globals__ if theirs else self._spaces.of(function.__globals__)[0].__dict__
        made = self._keep(function, types.FunctionType(function.__code__, scope, function.__name__, None, cells))
        made.__qualname__, made.__module__, made.__doc__, made.__annotations__ = function.__qualname__, function.__module__, function.__doc__, dict(function.__annotations__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._fill(name, cell)
        made.__defaults__, made.__kwdefaults__ = self._of(function.__defaults__), self._of(function.__kwdefaults__)
        made.__dict__.update(self._of(function.__dict__))
        if not theirs:
            self._shared.patched(self._spaces.names(function, self._cell, self._of))
        return made

    def _cell(self, cell: types.CellType) -> types.CellType:
        made: types.CellType = self._made.get(id(cell)) or self._keep(cell, types.CellType())
        return made

    def _fill(self, name: str, cell: types.CellType) -> None:
        made = self._made[id(cell)]
        if id(made) in self._made or not filled(cell):
            return
        self._keep(made, made)
        try:
            made.cell_contents = self._of(cell.cell_contents)
        except Untried as why:
            raise why.at(name) from None

    def _method(self, method: types.MethodType) -> Any:
        function: Any = method.__func__
        if isinstance(method.__self__, type):
            self._shared.cls(method.__self__)
            return method
        return self._keep(method, types.MethodType(self._of_class(function, method.__self__), self._of(method.__self__)))

    def _of_class(self, function: Any, owner: Any) -> Any:
        """The function of a method: its class shares it; a function that was bound by hand is copied."""
        shared = any(function is each for kind in type(owner).__mro__ for each in vars(kind).values())
        return function if shared else self._of(function)

    def _builtin(self, function: Any) -> Any:
        owner = function.__self__
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return function
        return self._keep(function, getattr(self._of(owner), function.__name__))

    def _partial(self, value: functools.partial[Any]) -> Any:
        made = functools.partial(self._of(value.func), *map(self._of, value.args), **{name: self._of(each) for name, each in value.keywords.items()})
        vars(made).update(self._of(vars(value)))
        return self._keep(value, made)

    def _loose_module(self, module: types.ModuleType) -> Any:
        if library(module.__name__):
            return module
        raise Untried(f"the module {module.__name__!r} cannot be copied")


def _of_count(count: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns that 3.14 has no pickles of counts any more
        return count.__reduce_ex__(4)


def _uncopied(value: Any, error: Exception) -> Untried:
    return Untried(f"a {type(value).__name__} cannot be copied ({type(error).__name__}: {shown(str(error))})")


class Copies:
    """Copies of a function, and of what goes with it, each as all of it was in the beginning, for one trial."""

    def __init__(self, met: Callable[[Any], None] = lambda _: None, room: Room | None = None) -> None:
        """``met`` is told of frames that are copied, but for rows."""
        self._met = met
        self._room = room or Room()

    @contextmanager
    def of(self, *values: Any, rows: Any = None) -> Iterator[Any]:
        """Within: copies that belong together, and of some rows behind them: an object in a cell that a function remembers is one for its copy, too. Raises Untried."""
        apart = Apart(self._room, self._met)
        with apart.lent():
            made = apart.of(values)
            yield made if rows is None else (*made, apart.of_rows(rows))


_MAKERS: dict[type[Any], Callable[[Apart, Any], Any]] = {
    list: Apart._list, deque: Apart._list, dict: Apart._dict, OrderedDict: Apart._dict, defaultdict: Apart._dict, set: Apart._set, frozenset: Apart._set, tuple: Apart._tuple,
    bytearray: Apart._bytearray, np.ndarray: Apart._array, types.FunctionType: Apart._function, types.MethodType: Apart._method, types.BuiltinFunctionType: Apart._builtin,
    type([].__len__): Apart._builtin, functools.partial: Apart._partial, types.ModuleType: Apart._loose_module,
}
