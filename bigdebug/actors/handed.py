"""Handed: what stands for a collection in the hands of who may do with it what it likes. It is gone through by another way; all else is done with the collection itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

_OWN = frozenset((
    "__class__", "__new__", "__init__", "__del__", "__iter__", "__next__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__bool__", "__dict__", "__weakref__", "__slots__",
    "__init_subclass__", "__subclasshook__", "__class_getitem__", "__doc__", "__module__", "__dir__", "__get__", "__set__", "__delete__", "__set_name__", "__array_function__",
))
"""What is not asked of the collection: what makes and ends it, and numpy's question for functions of its own, which gives way to the one for an array."""

_UNSEEN = frozenset(("__repr__", "__str__", "__format__", "__sizeof__", "__hash__", "__length_hint__", "__enter__", "__exit__", "close"))
"""These tell a program of no record, but that there is one."""


class Handed:
    """An object of the class that the collection is of, as ``isinstance`` sees it. ``through`` gives an iterator; what else is asked is ``told``, by its name, and what an attribute is."""

    __slots__ = ("_bigdebug_real", "_bigdebug_through", "_bigdebug_told")

    def __iter__(self) -> Iterator[Any]:
        made: Iterator[Any] = object.__getattribute__(self, "_bigdebug_through")()
        return made

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(_real_of(self))

    def __bool__(self) -> bool:
        return bool(_real_of(self))

    def __getattr__(self, name: str) -> Any:
        value = getattr(_real_of(self), name)
        _tell(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        _tell(self, name)
        setattr(_real_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        _tell(self, name)
        delattr(_real_of(self), name)

    def __dir__(self) -> list[str]:
        return dir(_real_of(self))


def handed(real: Any, through: Callable[[], Iterator[Any]], told: Callable[[str, Any], None]) -> Any:
    """What stands for ``real``. What C code reads past its methods it is not: ``json`` and ``heapq`` ask for a list that is one."""
    made = object.__new__(_class_of(type(real)))
    for name, value in (("_bigdebug_real", real), ("_bigdebug_through", through), ("_bigdebug_told", told)):
        object.__setattr__(made, name, value)
    return made


def _real_of(value: Any) -> Any:
    """The collection that something stands for; itself, if it does not."""
    return object.__getattribute__(value, "_bigdebug_real") if issubclass(type(value), Handed) else value


def _within(value: Any) -> Any:
    """The same in a tuple, as numpy is told what to write into."""
    return tuple(map(_real_of, value)) if type(value) is tuple else _real_of(value)


def _tell(made: Handed, name: str, value: Any = NotImplemented) -> None:
    if name not in _UNSEEN:
        object.__getattribute__(made, "_bigdebug_told")(name, value)


_made: WeakKeyDictionary[type[Any], type[Handed]] = WeakKeyDictionary()


def _class_of(kind: type[Any]) -> type[Handed]:
    """A class with the special methods of another one: these are asked of classes."""
    found = _made.get(kind)
    if found is None:
        found = _made[kind] = type(kind.__name__, (Handed,), {"__slots__": (), **_specials(kind)})
        for pattern in (Sequence, Mapping):  # which ``match`` asks classes for
            if issubclass(kind, pattern) and not issubclass(kind, (str, bytes, bytearray)):
                pattern.register(found)
    return found


def _specials(kind: type[Any]) -> dict[str, Any]:
    names = [name for name in dir(kind) if name.startswith("__") and name.endswith("__") and name not in _OWN]
    found = {name: _special(name) for name in names if callable(getattr(kind, name, None))} | ({"__hash__": None} if getattr(kind, "__hash__", None) is None else {})
    if "__next__" in dir(kind):
        found["__next__"] = _following
    if "__add__" in found and "__radd__" not in found:  # a list and a list are put together in C
        found["__radd__"] = _behind
    return found


def _special(name: str) -> Callable[..., Any]:
    def special(self: Handed, /, *args: Any, **kwargs: Any) -> Any:
        real = _real_of(self)
        _tell(self, name)
        result = getattr(real, name)(*map(_real_of, args), **{key: _within(value) for key, value in kwargs.items()})
        return self if result is real else result

    return special


def _following(self: Handed) -> Any:
    return next(iter(self))


def _behind(self: Handed, other: Any) -> Any:
    _tell(self, "__radd__")
    return other + _real_of(self)
