"""Reading: pandas' readers, and which row of a file each row of a frame is. They read what pandas does, and call it as pandas does."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from bigdebug.actors.callers import pandas_by_caller
from bigdebug.actors.files import allow, csv_options, encoding, of_pandas, refuse, untraceable
from bigdebug.actors.frames import FRAMES
from bigdebug.actors.places import located
from bigdebug.actors.stamping import stamping
from bigdebug.errors import SourceChangedError, UntraceableError
from bigdebug.store.paths import mode_of
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import codec_of, opened, plain

if TYPE_CHECKING:
    import pandas as pd

    Path = str | os.PathLike[str]

_MOVES = (
    "skiprows", "comment", "skipfooter", "lineterminator", "escapechar", "chunksize", "iterator", "dialect", "storage_options", "skipinitialspace", "delim_whitespace",
)
"""Options of read_csv with which a row is not the one that stands there."""


def read_csv(filepath_or_buffer: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_csv`` of a local file, whose rows are known from then on. Raises UntraceableError for options that leave out lines in between."""
    import pandas as pd

    refuse(options, _MOVES, "read_csv")
    allow(options, "read_csv", on_bad_lines="error", skip_blank_lines=True, doublequote=True, quoting=0, compression="infer")
    header = options.get("header", "infer")
    if header == "infer":
        header = None if options.get("names") is not None else 0
    if header not in (0, None):
        raise untraceable("read_csv", f"header={header!r}")
    if str(options.get("engine") or "").startswith("python") and options.get("nrows") is not None:
        raise untraceable("read_csv", "engine='python' and nrows")  # it skips rows with one empty cell, and only a count of all tells
    if options.get("encoding_errors") == "ignore" and options.get("nrows") is not None:
        raise untraceable("read_csv", "encoding_errors='ignore' and nrows")  # a line of which nothing is left is no row
    return _read(filepath_or_buffer, lambda: pandas_by_caller(pd.read_csv, filepath_or_buffer, **options), "csv", csv_options(options, header is not None), options.get("nrows"))


def read_json(path_or_buf: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_json`` of a local file of JSON lines (``lines=True``), whose rows are known from then on."""
    import pandas as pd

    refuse(options, ("chunksize", "storage_options"), "read_json")
    allow(options, "read_json", compression="infer")
    if not options.get("lines"):
        raise untraceable("read_json", "lines=False")
    lines = options.get("nrows")
    return _read(path_or_buf, lambda: pandas_by_caller(pd.read_json, path_or_buf, **options), "json", encoding(options), lines, lambda rows: lines is None or rows == _documents(path_or_buf, lines, options))


def read_parquet(path: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_parquet`` of a local file, or of a directory of them, whose rows are known from then on."""
    import pandas as pd
    import pyarrow.dataset as ds

    refuse(options, ("filters", "storage_options", "filesystem"), "read_parquet")
    name = of_pandas(path, "parquet")
    if not stat.S_ISDIR(mode_of(name)):
        return _read(path, lambda: pandas_by_caller(pd.read_parquet, path, **options), "parquet", ())
    fragments = list(ds.dataset(name, format="parquet", partitioning="hive").get_fragments())
    counts = [fragment.count_rows() for fragment in fragments]
    paths = [located(each.path) for each in fragments]
    with stamping(paths) as stamps:
        frame = pandas_by_caller(pd.read_parquet, path, **options)
    files = [Extent(each, Unit.ROW, "parquet", stamp=stamps[each]) for each in paths]
    if sum(counts) == len(frame):
        FRAMES.tell(frame, files, counts)
    return frame


def _read(
    path: Path, read: Callable[[], Any], form: str, options: tuple[tuple[str, str], ...], lines: int | None = None, fits: Callable[[int], bool] = lambda rows: True,
) -> Any:
    """What ``read`` gives: of the whole file, or of so many ``lines`` at most. The digest of the file is taken meanwhile. ``fits`` says whether so many rows can be a row for each line."""
    name = of_pandas(path, form)
    with stamping([name]) as stamps:
        frame = read()
    if fits(len(frame)):
        FRAMES.tell(frame, [Extent(name, Unit.ROW, form, options, stamps[name], len(frame) if lines is None else None)], [len(frame)])
    return frame


def _documents(path: Path, lines: int, options: dict[str, Any]) -> int:
    """How many of the first lines of a file of JSON are not blank; -1 if that cannot be seen. Of several documents in a line, pandas makes a row of each."""
    name = of_pandas(path, "json")
    try:
        if not plain(codec_of(options.get("encoding") or "")):
            return -1
        with opened(name) as file:
            return sum(bool(line.strip()) for line in islice(file, lines))
    except (UntraceableError, SourceChangedError):
        return -1
