"""Elsewhere: files that have been changed since a query wrote them, and the rows of its result that each may have had: those that went into its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.trace.positions import Positions


@dataclass(frozen=True)
class Elsewhere:
    """``folders`` are those of the files, by path, as ``place_of`` tells them; ``within`` has by folder the rows that went there, by number.

    A folder may have many files, and a result many rows, so these are kept once for each folder.
    """

    folders: Mapping[str, str]
    within: Mapping[str, Positions]

    @classmethod
    def of(cls, places: pa.Array, folders: Mapping[str, str]) -> Elsewhere:
        """``places`` has the folder of each row of the result."""
        if not folders:
            return cls({}, {})
        coded = places.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        known = {folder: code for code, folder in enumerate(coded.dictionary.to_pylist())}
        wanted = {folder: known[folder] for folder in dict.fromkeys(folders.values()) if folder in known}
        there = np.flatnonzero(np.isin(codes, list(wanted.values())))
        there = there[np.argsort(codes[there], kind="stable")]
        of = np.array(list(wanted.values()), codes.dtype)
        starts, ends = (np.searchsorted(codes[there], of, side) for side in ("left", "right"))
        return cls(folders, {folder: there[start:end] for folder, start, end in zip(wanted, starts.tolist(), ends.tolist(), strict=True)})

    def __contains__(self, path: object) -> bool:
        return path in self.folders

    def rows(self, path: str) -> Positions:
        """The rows that a file may have had."""
        return self.within.get(self.folders[path], np.empty(0, np.int64))

    @cached_property
    def files(self) -> list[str]:
        """Those of the files that may have had some."""
        return [path for path, folder in self.folders.items() if folder in self.within]

    @cached_property
    def every(self) -> Positions:
        """The rows that any of the files may have had, each once."""
        return np.concatenate([np.empty(0, np.int64), *self.within.values()])

    def certain(self, count: int) -> npt.NDArray[np.bool_]:
        """Of so many rows, which none of the files may have had."""
        kept: npt.NDArray[Any] = np.ones(count, bool)
        kept[self.every] = False
        return kept
