"""Apart: copies of a function, and of all that it remembers, which share nothing with it that may change. What is not known to be copied wholly is not copied.

A function remembers in the variables of the functions around it, in globals that its code names, in defaults and attributes, in the object of a method, in generators of random numbers;
and so do the functions that it calls.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bigdebug.actors.codes import Untried, library
from bigdebug.actors.fixed import ATOMS, all_atoms, fixed
from bigdebug.actors.frames_apart import array_apart, pandas_apart
from bigdebug.actors.objects_apart import object_apart, uncopied
from bigdebug.actors.reaching import check_live
from bigdebug.actors.room import Room
from bigdebug.actors.rows_apart import rows_apart
from bigdebug.actors.shared import Shared, filled
from bigdebug.actors.spaces import Spaces
from bigdebug.outside import from_outside


class Apart:
    """Copies that belong together: what is the same object for the user is the same copy. Raises Untried, also if there is too much to copy."""

    def __init__(self, room: Room | None = None, met: Callable[[Any], None] = lambda _: None) -> None:
        """``met`` is told of frames, and of functions of the user's."""
        self._charge = (room or Room()).charge
        self._met = met
        self._made: dict[int, Any] = {}
        self._held: list[Any] = []
        self._spaces = Spaces()
        self._shared = Shared(met)

    def of(self, value: Any) -> Any:
        """A copy; the value itself if nobody can change it."""
        try:
            return self._of(value)
        except Untried:
            raise
        except Exception as error:  # of a type's own code
            if from_outside(error):
                raise
            raise uncopied(value, error) from error

    def of_rows(self, rows: Any) -> Any:
        """A copy of rows of a frame, which take no room of that for functions."""
        self._shared.watch(self._shared.cls(type(rows)))  # it is at hand for who has a frame
        charge, self._charge = self._charge, Room().charge
        try:
            return rows_apart(rows, self.of)
        finally:
            self._charge = charge

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
        if found is not None:
            return self._keep(value, found)
        self._shared.cls(type(value))
        return object_apart(value, self)

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

    # ---- objects: what ``object_apart`` asks for ---------------------------------------------------------------

    def copy(self, value: Any) -> Any:
        """As ``of``; what types' own code raises is raised."""
        return self._of(value)

    def keep(self, value: Any, made: Any) -> None:
        """From now on, this is the copy of a value."""
        self._keep(value, made)

    def drop(self, value: Any) -> None:
        """It is not."""
        self._made.pop(id(value), None)

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
            self._met(function)
            self._shared.used(self._spaces.names(function, self._cell, self._of))
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
        check_live(module.__name__, module)
        if library(module.__name__):
            return module
        raise Untried(f"the module {module.__name__!r} cannot be copied")


class Copies:
    """Copies of a function, and of what goes with it, each as all of it was in the beginning, for one trial."""

    def __init__(self, met: Callable[[Any], None] = lambda _: None, room: Room | None = None) -> None:
        """``met`` is told of frames that are copied, but for rows, and of functions."""
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
