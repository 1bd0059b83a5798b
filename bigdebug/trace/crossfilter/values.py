"""Values of rows, as what is added up and compared: numbers, ranks, and what is NULL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import ViewError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Values:
    """One value for each link of a view, an Arrow array; NULL is no value, NaN is one, and -0.0 is 0.0, as in Spark."""

    array: pa.Array

    @staticmethod
    def of(values: Any) -> Values:
        """Of a list, an array of numpy, or one of Arrow, also in pieces."""
        array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values if isinstance(values, pa.Array) else pa.array(values)
        return Values(array.cast(pa.int64()) if pa.types.is_null(array.type) else array)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def type(self) -> pa.DataType:
        return self.array.type

    @cached_property
    def present(self) -> npt.NDArray[np.bool_] | None:
        """Where there is a value; None if everywhere."""
        return self.array.is_valid().to_numpy(zero_copy_only=False) if self.array.null_count else None

    @property
    def numeric(self) -> bool:
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type))

    def filled(self, filler: Any) -> Array:
        """The numbers, with ``filler`` in the place of NULL; without a copy if there is none."""
        array = self.array.fill_null(pa.scalar(filler, self.type)) if self.array.null_count else self.array
        numbers: Array = array.to_numpy(zero_copy_only=False)
        return numbers

    @cached_property
    def _encoded(self) -> tuple[Array, pa.Array]:
        """For each link the number of its value, -1 for NULL, and the values there are, each once, rising."""
        even = pc.add(self.array, pa.scalar(0.0, self.type)) if pa.types.is_floating(self.type) else self.array
        try:
            encoded = even.dictionary_encode()
            order = pc.array_sort_indices(encoded.dictionary).to_numpy()
        except pa.ArrowNotImplementedError as error:
            raise ViewError(f"Values of type {self.type} have no order here", remedy="Show a column of them that has one, or their text.") from error
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order], rank[-1] = np.arange(len(order)), -1
        return rank[encoded.indices.fill_null(len(order)).to_numpy()], encoded.dictionary.take(pa.array(order))

    @property
    def ranks(self) -> Array:
        """For each link the place of its value among ``known``; -1 for NULL."""
        return self._encoded[0]

    @property
    def known(self) -> pa.Array:
        return self._encoded[1]

    def limbs(self) -> tuple[list[Array], int]:
        """Integers and decimals, without their point, as int64 arrays: the value is the sum of limb i times 2**(32 * i). And digits behind the point.

        NULL is 0. Any 2**31 limbs can be added up in int64.
        """
        if pa.types.is_decimal(self.type):
            return self._decimal(), self.type.scale
        numbers = self.filled(0)
        most = max(abs(int(numbers.min())), abs(int(numbers.max()))) if len(numbers) else 0
        if most * max(len(numbers), 1) < 1 << 63:
            return [numbers.astype(np.int64, copy=False)], 0
        return [(numbers & numbers.dtype.type(0xFFFFFFFF)).astype(np.int64), (numbers >> numbers.dtype.type(32)).astype(np.int64)], 0

    def _decimal(self) -> list[Array]:
        if self.type.precision > 38:
            raise ViewError(f"A sum of values of type {self.type}", remedy="Cast them to decimal(38) at most.")
        wide = self.array.cast(pa.decimal128(38, self.type.scale)).fill_null(0)
        words = np.frombuffer(wide.buffers()[1], dtype=np.int64)[2 * wide.offset: 2 * (wide.offset + len(wide))].reshape(-1, 2)
        low, high = words[:, 0].view(np.uint64), words[:, 1]
        return [(low & np.uint64(0xFFFFFFFF)).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), high & 0xFFFFFFFF, high >> 32]
