"""Cells: what the cells and labels of a frame held when it was looked at, and whether they hold it still.

Whatever is done to one cell is seen: numbers are hashed as they lie in memory (128 bits for each column), as fast as memory is read. Texts and other objects that
nobody can change are the same as long as they are the same objects, so these are held, and their addresses compared; objects that may change are hashed as pickles.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_128_digest

from bigdebug.actors.bare import arrays_of, bare

if TYPE_CHECKING:
    from typing import Self

_PIECE = 1 << 16
"""Objects that are looked at together."""

_AT_HAND = 1 << 13
"""Objects that a processor has at hand when they have just been held."""

_STEP = 61
"""Of many objects, so few are looked at when they are held; all of them when it is asked whether they are the same still, for that may never be."""

_FEW = 64
"""Objects that are pickled together: some may be large."""

_FIXED_TYPES = frozenset((str, bytes, int, bool, float, complex, Decimal, date, time, timedelta, datetime, type(None)))
"""Their objects nobody can change; those of a class that is made of one may have attributes."""


class UnseenError(Exception):
    """Among many objects that nobody can change there are a few that may, and what they held was not looked at."""


def fixed(objects: npt.NDArray[Any]) -> bool:
    """Whether nobody can change these objects, so that copies of them would be the same. Takes 14 ms for a million."""
    return all(map(_fixed_type, set(map(type, objects))))


def all_texts(objects: npt.NDArray[Any]) -> bool:
    """Whether these are texts and nulls, of whichever class that is made of texts. Takes 5 ms for a million."""
    try:
        from pandas._libs.lib import is_string_array
    except ImportError:  # it is pandas' own, and may be called otherwise some day
        return False
    return not len(objects) or bool(is_string_array(objects, skipna=True))


def _fixed_type(kind: type) -> bool:
    import pandas as pd

    if kind in _FIXED_TYPES or kind in (pd.Timestamp, pd.Timedelta, pd.Period, type(pd.NaT), type(pd.NA)):
        return True
    return issubclass(kind, np.generic) and kind.__module__ == "numpy" and not issubclass(kind, (np.void, np.object_))


@dataclass(frozen=True, eq=False)
class Cells:
    """What a frame held. While it is kept, so are the objects in the frame: 8 bytes for each."""

    names: str
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, frame: Any) -> Self:
        """What it holds now. Takes 0.2 ms for a million numbers, 5 for a million texts. Raises what pickle does of objects that it cannot look into."""
        arrays = list(_arrays(frame))
        return cls(_names(frame, arrays), tuple(map(_part, arrays)))

    def same(self, frame: Any) -> bool:
        """Whether a frame holds the same, in the same order. Takes as long. Raises UnseenError, and what pickle does."""
        arrays = list(_arrays(frame))
        return _names(frame, arrays) == self.names and len(arrays) == len(self.parts) and all(part.same(array) for part, array in zip(self.parts, arrays))


class _Part(Protocol):
    """What an array held."""

    def same(self, array: Any) -> bool: ...


@dataclass(frozen=True)
class _Numbers:
    """Bytes."""

    hash: bytes

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Self:
        return cls(xxh3_128_digest(np.ascontiguousarray(values).view(np.uint8).data))

    def same(self, array: Any) -> bool:
        values = _plain(array)
        return values is not None and values.dtype != object and self == self.of(values)


@dataclass(frozen=True, eq=False)
class _Objects:
    """The objects, held, for their addresses are no others' then; of the pieces in which some may change, what they held."""

    held: npt.NDArray[Any]
    changing: dict[int, tuple[bytes, ...]]

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Self:
        held = np.empty(len(values), dtype=object)
        return cls(held, {start: _contents(piece) for start, piece in _pieces(values) if not _hold(piece, held[start : start + len(piece)])})

    def same(self, array: Any) -> bool:
        values = _plain(array)
        if values is None or values.dtype != object or len(values) != len(self.held) or not bool((_addresses(values) == _addresses(self.held)).all()):
            return False
        for start, piece in _pieces(values):
            if start in self.changing:
                if _contents(piece) != self.changing[start]:
                    return False
            elif len(piece) == _PIECE and not fixed(piece):
                raise UnseenError
        return True


@dataclass(frozen=True)
class _Extension:
    """An array of another kind, by how it is pickled: what takes room in it are buffers, which are hashed where they lie."""

    hashes: tuple[_Numbers, ...]

    @classmethod
    def of(cls, array: Any) -> Self:
        buffers: list[pickle.PickleBuffer] = []
        told = _pickled(array, buffers.append)
        return cls((_Numbers.of(_bytes(told)), *(_Numbers.of(_bytes(buffer.raw())) for buffer in buffers)))

    def same(self, array: Any) -> bool:
        return _plain(array) is None and self == self.of(array)


def _part(array: Any) -> _Part:
    values = _plain(array)
    if values is None:
        return _Extension.of(array)
    return _Objects.of(values) if values.dtype == object else _Numbers.of(values)


def _plain(array: Any) -> npt.NDArray[Any] | None:
    """The memory of an array of pandas', as an array of numpy; None if it is of a kind that lies in memory otherwise."""
    import pandas as pd

    if isinstance(array, np.ndarray):
        return array
    if not type(array).__module__.startswith("pandas."):  # somebody else's may have more than that
        return None
    if isinstance(array, pd.arrays.NumpyExtensionArray):
        return np.asarray(array)
    if isinstance(array, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray, pd.arrays.PeriodArray)):  # a pickle of periods has what their offset remembers once it is asked
        return np.asarray(array.view(np.dtype("i8")))
    return None


def _pieces(objects: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    return ((start, objects[start : start + _PIECE]) for start in range(0, len(objects), _PIECE))


def _hold(piece: npt.NDArray[Any], held: npt.NDArray[Any]) -> bool:
    """Put the objects into ``held``; whether nobody can change those that are looked at."""
    step, found = _STEP if len(piece) == _PIECE else 1, True
    for start in range(0, len(piece), _AT_HAND):
        some = piece[start : start + _AT_HAND]
        held[start : start + _AT_HAND] = some
        found = found and fixed(some[-start % step :: step])
    return found


def _addresses(objects: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    return np.frombuffer(np.ascontiguousarray(objects), np.intp) if len(objects) else np.zeros(0, np.intp)


def _bytes(memory: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(memory, np.uint8) if len(memory) else np.zeros(0, np.uint8)


def _contents(objects: npt.NDArray[Any]) -> tuple[bytes, ...]:
    return tuple(xxh3_128_digest(_pickled(objects[start : start + _FEW].tolist())) for start in range(0, len(objects), _FEW))


def _pickled(value: Any, apart: Callable[[pickle.PickleBuffer], object] | None = None) -> bytes:
    """A pickle, without the large buffers if they are taken apart."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=5, buffer_callback=apart).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Leaves out what arrays and dtypes of pandas, and arrays of Arrow, remember of themselves when they are asked: that changes while they do not. The pickles are compared, and never read."""

    def reducer_override(self, value: Any) -> Any:
        import pandas as pd

        if isinstance(value, (date, time, timedelta)) and getattr(value, "__dict__", None):  # pickles of times have no attributes
            return tuple, ((type(value), value.__reduce_ex__(5)[1:], vars(value)),)
        arrow = sys.modules.get("pyarrow")
        if arrow is not None and isinstance(value, arrow.Array):
            return tuple, (tuple(map(_uncounted, value.__reduce__()[1])),)
        if not isinstance(value, (pd.api.extensions.ExtensionArray, pd.api.extensions.ExtensionDtype)):
            return NotImplemented
        make, arguments, *state = value.__reduce_ex__(5)
        return (make, arguments, *({name: each for name, each in kept.items() if name != "_cache"} if isinstance(kept, dict) else kept for kept in state))


def _uncounted(told: Any) -> Any:
    """What Arrow tells of an array: its type, length, offset, buffers, the arrays within it and its dictionary; without how many nulls it has, which it counts once somebody asks."""
    if not isinstance(told, tuple) or len(told) != 7:  # another Arrow than those that are known
        return told
    kind, length, _, offset, buffers, children, dictionary = told
    return kind, length, offset, buffers, [_uncounted(each) for each in children or ()], _uncounted(dictionary)


def _names(frame: Any, arrays: Iterable[Any]) -> str:
    """The names and types of columns, and the length: bytes of two types may be the same."""
    names = list(frame.columns) if frame.ndim > 1 else [frame.name]
    return repr((len(frame), names, [(str(each.dtype), _zone(each.dtype)) for _, each in zip(names, arrays)]))


def _zone(kind: Any) -> bytes:
    """The time zone of a type: several have one name."""
    import pandas as pd

    return _pickled(kind.tz) if isinstance(kind, pd.DatetimeTZDtype) else b""


def _arrays(frame: Any) -> Iterator[Any]:
    """The columns, one by one, and the labels of rows."""
    frame = bare(frame)
    yield from arrays_of(frame)
    yield from _labels(frame.index)


def _labels(index: Any) -> Iterable[Any]:
    """What an index holds; of one that counts up nothing, for it is known by itself."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return ()
    if isinstance(index, pd.MultiIndex):
        return (*map(np.asarray, index.codes), *(array for level in index.levels for array in _labels(level)))
    return (index.array,)
