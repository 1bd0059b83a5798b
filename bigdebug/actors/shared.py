"""Shared: what a copy of a function shares with the function, and that nothing is remembered there. Classes are; what functions of a class remember outside its objects cannot be copied."""

from __future__ import annotations

import contextlib
import copyreg
import enum
import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from types import BuiltinFunctionType, CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from bigdebug.actors.codes import Untried, library
from bigdebug.actors.decorated import Decorated
from bigdebug.actors.fixed import fixed
from bigdebug.actors.named import Named
from bigdebug.actors.reaching import check_given, check_imports, checked

_TELLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
"""By what a class says what is copied of an object."""

_SETTING = frozenset(("setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "register_dataframe_accessor", "register_series_accessor", "register_index_accessor"))
"""By what code gives attributes whose names it need not name."""
_PACKAGES_SETTING = frozenset(("pandas", "initialize"))
"""Methods of packages that give attributes to classes of frames: ``tqdm.pandas()``, ``pandarallel.initialize()``."""
_SETTING_NOTHING = ("builtins", "abc", "enum", "typing", "collections.abc", "dataclasses")
"""Modules whose classes give none to those that are made of them."""

_OF_FRAMES = ("_metadata", "_internal_names", "_internal_names_set")
"""Lists of names that classes of frames have, which pandas reads."""


class Shared:
    """The classes that copies share. Raises Untried for those that remember something which their objects do not."""

    def __init__(self, met: Callable[[Any], None] = lambda _: None) -> None:
        """``met`` is told of the functions of classes."""
        self._met = met
        self._classes: dict[type[Any], dict[str, Any]] = {}
        self._enums: list[tuple[Any, dict[str, Any]]] = []
        self._seen: dict[int, Any] = {}
        self._sets = set[str]()

    def cls(self, kind: type[Any]) -> type[Any]:
        """The class, looked into with those it is made of; those of libraries are taken as they are."""
        for each in (*kind.__mro__, *type(kind).__mro__):
            if each not in self._classes and not library(each.__module__):
                self._classes[each] = dict(vars(each))
                for name, value in vars(each).items():
                    self._member(each, name, value)
                if issubclass(each, enum.Enum):
                    self._members(each)
        return kind

    def used(self, names: Named) -> None:
        """Look into what somebody gave to the classes of pandas: methods and accessors that code names; and note what it gives to classes itself."""
        self._sets |= names.sets | (_SETTING & (names.globals | names.attributes)) | (_PACKAGES_SETTING & names.attributes)
        pandas = sys.modules.get("pandas")
        for kind in () if pandas is None else (pandas.DataFrame, pandas.Series, pandas.Index):
            for name in names.attributes & frozenset(vars(kind)):
                value = vars(kind)[name]
                value = getattr(value, "_accessor", value)
                if isinstance(value, (FunctionType, type)) and not library(value.__module__):
                    self._member(kind, name, value)

    def watch(self, kind: type[Any]) -> None:
        """Watch over a class of a library, as over the user's."""
        self._classes.setdefault(kind, dict(vars(kind)))

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Afterwards, the classes have the attributes that they had: what was given to a class is taken away again. What the code that was used cannot have given stays: another thread, or
        a package that is imported, did that.
        """
        try:
            yield
        finally:
            for kind, before in self._classes.items():
                now = dict(vars(kind))
                for name in filter(partial(self._gives, kind), now.keys() - before.keys()):
                    type.__delattr__(kind, name)
                other = [name for name, value in before.items() if now.get(name) is not value]  # mostly none, so it is not asked of all who may have given them
                for name in filter(partial(self._gives, kind), other):
                    type.__setattr__(kind, name, before[name])
            for member, before in self._enums:
                if vars(member) != before:
                    vars(member).clear()
                    vars(member).update(before)

    def _gives(self, kind: type[Any], name: str) -> bool:
        """Whether code that was used may have given a class an attribute of this name; of a class of the user's, also that of a package which it is made of."""
        made_of = not library(kind.__module__) and any(each.__module__ not in _SETTING_NOTHING and library(each.__module__) for each in kind.__mro__)
        return not _special(name) and (name in self._sets or made_of or not self._sets.isdisjoint(_SETTING | _PACKAGES_SETTING))

    def _members(self, kind: type[enum.Enum]) -> None:
        for member in kind:
            self._enums.append((member, dict(vars(member))))
            for name, value in vars(member).items():
                self._fixed(value, f"{member}.{name}")

    def _member(self, kind: type[Any], name: str, value: Any) -> None:
        if isinstance(value, property):
            functions: tuple[Any, ...] = (value.fget, value.fset, value.fdel)
        elif isinstance(value, (classmethod, staticmethod)):
            functions = (value.__func__,)
        elif isinstance(value, cached_property):
            functions = (value.func,)
        elif isinstance(value, FunctionType):
            functions = () if name == "__repr__" and library(value.__globals__.get("__name__")) else (value,)  # a dataclass's notes where it is
        elif _special(name) or name in _OF_FRAMES or (issubclass(kind, (enum.Enum, tuple)) and name.startswith("_")) or name == "_abc_impl":
            return
        else:
            functions = (value,)
        for each in functions:
            self._fixed(each, f"{kind.__name__}.{name}")

    def _fixed(self, value: Any, where: str) -> None:
        """Raises Untried if something that may change is reached from here."""
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, type):
            self.cls(value)
        elif isinstance(value, FunctionType):
            self._function(value, where)
        elif isinstance(value, Decorated):
            self._fixed(value.function, where)
        elif isinstance(value, (tuple, frozenset)) and type(value) in (tuple, frozenset):
            for each in value:
                self._fixed(each, where)
        elif not (fixed(value) or _of_module(value) or _is_slot(value) or (isinstance(value, ModuleType) and library(value.__name__))):
            raise Untried(f"{where} of its class is a {type(value).__name__}, which all its objects share")

    def _function(self, function: FunctionType, where: str) -> None:
        theirs = library(function.__globals__.get("__name__"))
        if theirs and not function.__closure__:
            return
        names = checked(function)
        self._met(function)
        self.used(names)
        if names.stores:
            raise Untried(f"{where} changes {min(names.stores)!r}, which is outside of it")
        values = {name: function.__globals__[name] for name in names.globals if name in function.__globals__}
        values.update({name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()) if filled(cell)})
        if not theirs:
            check_imports(names)
            for name, value in (*values.items(), *defaults(function)):
                check_given(name, value, names)
        for name, value in (*values.items(), *defaults(function), *vars(function).items()):
            self._read(value, name, where)

    def _read(self, value: Any, name: str, where: str) -> None:
        try:
            self._fixed(value, where)
        except Untried:
            raise Untried(f"{where} reads {name!r}, which may change") from None


def defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The parameters of a function that have a value when they are given none, and that."""
    code, values = function.__code__, function.__defaults__ or ()
    yield from zip(code.co_varnames[code.co_argcount - len(values) : code.co_argcount], values)
    yield from (function.__kwdefaults__ or {}).items()


def tells(kind: type[Any]) -> bool:
    """Whether a class says by code of the user's what is copied of it. That may be less than it is, and saying so may change it."""
    told = (vars(each)[name] for each in kind.__mro__ if not library(each.__module__) for name in _TELLING if name in vars(each))
    reduce = copyreg.dispatch_table.get(kind)
    return any(not isinstance(each, BuiltinFunctionType) and not (isinstance(each, FunctionType) and library(each.__globals__.get("__name__"))) for each in (*told, *filter(None, [reduce])))


def slots(kind: type[Any]) -> list[MemberDescriptorType]:
    """Where objects of a class keep what stands in no ``__dict__``."""
    return [each for owner in kind.__mro__ for each in vars(owner).values() if isinstance(each, MemberDescriptorType)]


def filled(cell: CellType) -> bool:
    """Whether a variable of a function has a value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _of_module(value: Any) -> bool:
    """Whether a function in C belongs to no object."""
    return isinstance(value, BuiltinFunctionType) and (value.__self__ is None or isinstance(value.__self__, (ModuleType, type)))


def _is_slot(value: Any) -> bool:
    return hasattr(type(value), "__get__") and library(type(value).__module__) and not hasattr(value, "__dict__")


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
