"""The input files of the jobs: generated on first use with fixed seeds, then kept in a folder of this user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from benchmarks import pigmix, tpch, zipftext

MEASURED = (1, 3, 5, 10, 12, 18)
"""The queries of TPC-H that are asked."""

VERSION = 1
"""Counted up when a generator changes, so that no file of an older one is used."""


class Inputs:
    """Files for one scale, and which ``queries`` of TPC-H are asked of them. ``scale`` 1 is 12 M words of text and 1 M page views; sizes go with it."""

    def __init__(self, scale: float, folder: Path | None = None, queries: Sequence[int] = MEASURED) -> None:
        self.scale = scale
        self.queries = queries
        self.folder = folder or Path(tempfile.gettempdir()) / f"bigdebug-benchmarks-{os.getuid()}"

    @cached_property
    def text(self) -> Path:
        """Lines of about 10 words from a vocabulary of 8,000, Zipf-distributed."""
        words = round(12_000_000 * self.scale)
        return self.made(f"text-{words}.txt", lambda path: zipftext.write(path, words))

    @cached_property
    def page_views(self) -> Path:
        return self.made(f"page_views-{self._views}.tsv", lambda path: pigmix.write_page_views(path, self._views))

    @cached_property
    def power_users(self) -> Path:
        return self.made(f"power_users-{self._views}.tsv", lambda path: pigmix.write_power_users(path, self._views))

    @cached_property
    def users(self) -> Path:
        return self.made(f"users-{self._views}.tsv", lambda path: pigmix.write_users(path, self._views))

    @cached_property
    def tpch(self) -> Path:
        """The folder of the tables of TPC-H at this scale."""
        return self.made(f"tpch-{self.scale:g}", lambda path: tpch.generate(path, self.scale))

    def path(self, name: str) -> Path:
        """The file of this name: text, page_views, power_users or users."""
        found: Path = getattr(self, name)
        return found

    @property
    def _views(self) -> int:
        return round(1_000_000 * self.scale)

    def made(self, name: str, write: Callable[[Path], object]) -> Path:
        """The file of this name, written by ``write`` if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / f"v{VERSION}-{name}"
        if not path.exists():
            write(path)
        return path
