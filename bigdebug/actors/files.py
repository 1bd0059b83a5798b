"""Files of frames and generators: their paths, their rows, and the options that say where these begin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from csv import QUOTE_NONE
from typing import Any

import numpy as np

from bigdebug.actors.items import Items
from bigdebug.actors.places import Places, located
from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import ITEMS, Extent
from bigdebug.trace.positions import Positions

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")


def rows_of(files: Sequence[Extent], counts: Sequence[int]) -> Items:
    """All rows of files, one file behind the other, as items."""
    return Items(sum(counts), Places.of(files, runs_of(counts)))


def runs_of(counts: Sequence[int]) -> Positions:
    """So many rows of each of several files, one file behind the other, as runs of places."""
    every = np.array(counts, np.int64).reshape(-1)
    file = np.flatnonzero(every)
    return np.stack([(np.cumsum(every) - every)[file], every[file], file, np.zeros_like(file), np.ones_like(file)], axis=1)


def local(path: Any) -> str:
    """The absolute path of a local file. Raises UntraceableError for what is none."""
    if not isinstance(path, (str, os.PathLike)) or "://" in os.fspath(path):
        raise UntraceableError("Rows are known of local files alone", value=path, remedy="Give the path of a file; read others with pandas itself.")
    text = os.fspath(path)
    return located(os.path.abspath(text) if text.startswith(ITEMS) else text)


def of_pandas(path: Any, form: str) -> str:
    """The absolute path of a local file as pandas takes it, in the user's home behind a ~. Raises UntraceableError for archives of text: pandas reads what is within."""
    name = local(os.path.expanduser(path) if isinstance(path, (str, os.PathLike)) else path)
    if form != "parquet" and name.lower().endswith(_ARCHIVES):
        raise UntraceableError("Rows of an archive have no place in it", value=name, remedy="Unpack it first.")
    return name


def csv_options(options: dict[str, Any], header: bool) -> tuple[tuple[str, str], ...]:
    """In the words of Spark's reader, of what decides where a row begins. pandas follows RFC 4180."""
    sep = options.get("sep", options.get("delimiter", ","))
    quote = "" if options.get("quoting") == QUOTE_NONE else options.get("quotechar", '"')
    if not isinstance(sep, str) or len(sep) != 1:
        raise untraceable("a CSV", f"sep={sep!r}")
    return (*encoding(options), ("escape", quote), ("header", str(header).lower()), ("multiLine", "true"), ("quote", quote), ("sep", sep))


def encoding(options: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The option encoding, if it is given."""
    return (("encoding", str(options["encoding"])),) if options.get("encoding") else ()


def refuse(options: dict[str, Any], names: Iterable[str], where: str) -> None:
    """Raises UntraceableError for an option of these that is on."""
    for name in names:
        if options.get(name) is not None and options[name] is not False:
            raise untraceable(where, f"{name}={options[name]!r}")


def allow(options: dict[str, Any], where: str, **only: Any) -> None:
    """Raises UntraceableError for an option that has another value than the one here."""
    for name, value in only.items():
        if options.get(name, value) != value:
            raise untraceable(where, f"{name}={options[name]!r}")


def untraceable(where: str, what: str) -> UntraceableError:
    """The error for what makes rows move."""
    return UntraceableError(
        f"With {what}, which row of the file a row of the frame is cannot be said ({where})", remedy="Leave that out and do it in a step, or use pandas itself.",
    )
