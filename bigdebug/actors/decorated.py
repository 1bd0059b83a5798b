"""Decorated: a step in the place of its function. Classes bind it, pickles name it, and who asks what it is hears what the function would say."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, ClassVar

from bigdebug.errors import ActorError


class _Signature:
    """That of a step: ``inspect`` looks for no other one, and takes what can be bound for a method in C. Of the class of steps it is none."""

    def __get__(self, step: Decorated | None, kind: type[Decorated]) -> inspect.Signature:
        if step is None:
            raise AttributeError("__signature__")
        try:
            return step.signature()
        except (TypeError, ValueError, IndexError) as error:  # some functions in C tell of none
            raise AttributeError("__signature__") from error


class Decorated:
    """A function that does something besides when it is called. Else it is used as the function is: by a class as a method, from another process by its name."""

    _of_code: ClassVar[tuple[str, ...]] = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")
    """What it has of its function's, if that has it: by these one tells a generator function, among others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        vars(self).pop("_method", None)  # of a step that is made a step once more
        self._function = function
        self._bound = 0

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.called(1 if self._bound or _of_class(self, args) else 0, args, kwargs)

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives. ``bound`` arguments come before those that the caller wrote: the object of a method, or its class."""
        raise NotImplementedError

    def __get__(self, owner: Any, kind: type[Any] | None = None) -> Any:
        if not _binds(self._function, owner, kind):
            return self
        method = self if self._bound else vars(self).get("_method") or vars(self).setdefault("_method", self._as_method())
        return method if owner is None else MethodType(method, owner)

    def __getattr__(self, name: str) -> Any:
        if name not in self._of_code:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._function, name)

    __signature__ = _Signature()

    def signature(self) -> inspect.Signature:
        """That of the function. Raises TypeError, ValueError, IndexError if there is none."""
        return inspect.signature(self._function)

    @property
    def function(self) -> Callable[..., Any]:
        """The one whose place it has."""
        return self._function

    def _as_method(self) -> Decorated:
        made: Decorated = object.__new__(type(self))
        vars(made).update(vars(self), _bound=1)
        return made

    def __copy__(self) -> Decorated:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Decorated:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = vars(self).get("__qualname__", "")
        if _found(self.__module__, name) is self and not _taken_along(self.__module__, sys._getframe(1).f_globals):
            return name
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_method"}


def decorated(function: Any, make: Callable[[Any], Any]) -> Any:
    """What ``make`` makes of a function, also of one in a static or a class method; without one, the decorator that does so. Raises ActorError for what is no function, and for one that is async."""
    if function is None:
        return functools.partial(decorated, make=make)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorated(function.__func__, make))
    if not callable(function):
        raise ActorError("A step is made of a function", value=function)
    if any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in (function, function.__call__)):
        raise ActorError(
            f"{name_of(function)} is async, and a step is made of a function that is not",
            remedy="Await first what it awaits, and make a step of the function that takes what came of that.",
        )
    return make(function)


def name_of(function: Any) -> str:
    """What a function is called."""
    return str(getattr(function, "__name__", type(function).__name__))


def _of_class(step: Decorated, args: tuple[Any, ...]) -> bool:
    """Whether this is a call of a class method: from Python 3.13 on, these ask no function how it is bound."""
    if not args or not isinstance(args[0], type):
        return False
    method = inspect.getattr_static(args[0], name_of(step), None)
    return isinstance(method, classmethod) and method.__func__ is step


def _found(module: Any, name: str) -> Any:
    """What a module has under a qualified name."""
    found = sys.modules.get(module) if name else None
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _taken_along(module: str, pickling: Mapping[str, Any]) -> bool:
    """Whether who pickles takes functions of a module along with all that they need, as cloudpickle does with those of a notebook: where that is opened, nobody has this module."""
    if "cloudpickle" not in str(pickling.get("__name__")):
        return False
    along = pickling.get("list_registry_pickle_by_value", frozenset)()
    return module == "__main__" or any(f"{module}.".startswith(f"{each}.") for each in along)


def _binds(function: Any, owner: Any, kind: type[Any] | None) -> bool:
    """Whether who has a function has it as a method. A class does not show of partial functions that Python 3.13 hands them out as they are, and later versions bind them."""
    bind = getattr(type(function), "__get__", None)
    if bind is None or isinstance(function, MethodType):
        return False
    if owner is None:
        return not isinstance(function, functools.partial) or sys.version_info >= (3, 14)
    return bind(function, owner, kind) is not function
