"""Objects apart: copies by what ``pickle`` would do, piece by piece; not by ``__deepcopy__``, of which some give the object itself. What is not known to be copied wholly is not copied."""

from __future__ import annotations

import contextlib
import copyreg
import itertools
import re
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from bigdebug.actors.codes import Untried, is_value, library, live_object
from bigdebug.actors.decorated import Decorated
from bigdebug.actors.reaching import are_options
from bigdebug.actors.shared import slots, tells
from bigdebug.outside import from_outside, said
from bigdebug.shown import shown

_ITERATORS: tuple[type[Any], ...] = (type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")), itertools.count)
"""Iterators that tell where they are."""

_REDUCED = ("numpy", "pandas", "scipy", "sklearn", "bigdebug")
"""Packages besides Python's whose objects say all that is in them, piece by piece."""


class Copying(Protocol):
    """What copies the pieces."""

    def copy(self, value: Any) -> Any:
        """A copy, the same each time."""

    def keep(self, value: Any, made: Any) -> None:
        """From now on, this is the copy of a value."""

    def drop(self, value: Any) -> None:
        """It is not."""


def object_apart(value: Any, apart: Copying) -> Any:
    """A copy of an object that no other module copies. Raises Untried."""
    kind = type(value)
    if isinstance(value, Decorated):  # it is pickled by its name, as a function is
        return _attributes(value, apart)
    if are_options(value) or live_object(kind):
        raise Untried(f"a {kind.__name__} cannot be copied: it stands for something elsewhere")
    if hasattr(kind, "__del__"):
        raise Untried(f"a {kind.__name__} cannot be copied: it does something when it is no more")
    if tells(kind):
        return _telling(value, apart)
    own = next((each for each in kind.__mro__ if "__reduce_ex__" in vars(each) or "__reduce__" in vars(each)), object)
    plain = own is object and "__getstate__" not in [name for each in kind.__mro__[:-1] for name in vars(each)]
    if not (plain or kind in _ITERATORS or _trusted(kind) or kind in copyreg.dispatch_table):
        raise Untried(f"a {kind.__name__} cannot be copied for certain")
    reduce = copyreg.dispatch_table.get(kind)
    try:
        told = _of_count(value) if kind is itertools.count else value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Untried:
        raise
    except Exception as error:  # of a type's own code
        if from_outside(error):
            raise
        raise uncopied(value, error) from error
    if isinstance(told, str):
        if kind.__module__.partition(".")[0] == "numpy" and kind is not np.ufunc:  # a function
            return value
        raise Untried(f"there is one {kind.__name__} alone")
    return _rebuilt(apart, value, *told)


def _telling(value: Any, apart: Copying) -> Any:
    """A copy of what says itself what is copied of it: by all of its attributes, if they can be copied; else as it says, if it says how to make it whole, or only it can know. Raises Untried
    if it may be less, or if saying so changed it: then it is put back.
    """
    kind = type(value)
    if hasattr(kind, "__deepcopy__"):
        raise Untried(f"a {kind.__name__} cannot be copied for certain")
    plain = not any(library(each.__module__) and each.__module__ not in ("abc", "typing") for each in kind.__mro__[:-1])
    try:
        if plain:
            return _attributes(value, apart)
    except Untried:
        apart.drop(value)
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
    return _rebuilt(apart, value, *told)


def _attributes(value: Any, apart: Copying) -> Any:
    """A copy by its attributes, all of them."""
    kind = type(value)
    made = object.__new__(kind)
    apart.keep(value, made)
    if hasattr(value, "__dict__"):
        vars(made).update({name: apart.copy(each) for name, each in vars(value).items()})
    for slot in slots(kind):
        with contextlib.suppress(AttributeError):  # it has no value yet
            slot.__set__(made, apart.copy(slot.__get__(value)))
    return made


def _trusted(kind: type[Any]) -> bool:
    """Whether a class tells all that its objects are, as its own code says: those of Python and of the packages known, without iterators; and the user's."""
    top = kind.__module__.partition(".")[0]
    if is_value(kind):
        return True
    if not library(kind.__module__):
        return not hasattr(kind, "__deepcopy__")
    return (top in _REDUCED or top in ("functools", "operator", "collections", "types", "random", "datetime", "builtins", "io", "string", "statistics")) and not hasattr(kind, "__next__")


def _rebuilt(apart: Copying, value: Any, make: Callable[..., Any], args: tuple[Any, ...], state: Any = None, items: Any = None, pairs: Any = None, put: Any = None) -> Any:
    made = make(*map(apart.copy, args))
    if made is value:
        raise Untried(f"there is one {type(value).__name__} alone")
    apart.keep(value, made)
    if state is not None:
        _put(made, apart.copy(state), put)
    for each in items or ():
        made.append(apart.copy(each))
    for name, each in pairs or ():
        made[apart.copy(name)] = apart.copy(each)
    return made


def _put(made: Any, state: Any, put: Any) -> None:
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


def _of_count(count: Any) -> Any:
    """Where a count is. Python 3.12 warns of its pickle, and who catches that does so for all threads: there it is read from its text, which tells whole numbers for certain. Raises Untried."""
    if sys.version_info >= (3, 12):
        told = _COUNT.fullmatch(repr(count))
        if told is None:
            raise Untried("a count of other than whole numbers cannot be copied for certain")
        return itertools.count, tuple(int(each) for each in told.groups() if each is not None)
    return count.__reduce_ex__(4)


_COUNT = re.compile(r"count\((-?\d+)(?:, (-?\d+))?\)")


def uncopied(value: Any, error: Exception) -> Untried:
    """Why something is not copied: code of its type raised an error."""
    return Untried(f"a {type(value).__name__} cannot be copied ({type(error).__name__}: {shown(said(error))})")
