"""Files of frames: pandas' readers and writers, and which row of a file each row is. They read and write what pandas does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import one_to_one
from bigdebug.actors.frames import FRAMES, all_inputs
from bigdebug.actors.items import Items
from bigdebug.actors.places import Places, located
from bigdebug.actors.steady import PANDAS, steady
from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import Extent, FileStamp, Unit
from bigdebug.trace.across.stamps import stamp_of

if TYPE_CHECKING:
    import pandas as pd

    Path = str | os.PathLike[str]

_MOVES = {"skiprows", "comment", "skipfooter", "lineterminator", "escapechar", "chunksize", "iterator", "dialect", "storage_options"}
"""Options of read_csv with which a row is not the one that stands there."""


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_csv`` of a local file, whose rows are known from then on. Raises UntraceableError for options that leave out lines in between."""
    import pandas as pd

    _refuse(options, _MOVES, "read_csv")
    _allow(options, "read_csv", on_bad_lines="error", skip_blank_lines=True, doublequote=True, quoting=0)
    header = options.get("header", "infer")
    if header == "infer":
        header = None if options.get("names") is not None else 0
    if header not in (0, None):
        raise _untraceable("read_csv", f"header={header!r}")
    return _read(path, lambda: pd.read_csv(path, **options), "csv", _csv_options(options, header is not None))


def read_json(path: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_json`` of a local file of JSON lines (``lines=True``), whose rows are known from then on."""
    import pandas as pd

    _refuse(options, {"chunksize", "storage_options"}, "read_json")
    if not options.get("lines"):
        raise _untraceable("read_json", "lines=False")
    return _read(path, lambda: pd.read_json(path, **options), "json", _encoding(options))


def read_parquet(path: Path, **options: Any) -> pd.DataFrame:
    """``pandas.read_parquet`` of a local file, or of a directory of them, whose rows are known from then on."""
    import pandas as pd
    import pyarrow.dataset as ds

    _refuse(options, {"filters", "storage_options", "filesystem"}, "read_parquet")
    if not os.path.isdir(path):
        return _read(path, lambda: pd.read_parquet(path, **options), "parquet", ())
    fragments = list(ds.dataset(os.fspath(path), format="parquet", partitioning="hive").get_fragments())
    counts = [fragment.count_rows() for fragment in fragments]
    frame = pd.read_parquet(path, **options)
    files = [Extent(located(each.path), Unit.ROW, "parquet", stamp=stamp_of(each.path)) for each in fragments]
    if sum(counts) == len(frame):
        FRAMES.tell(frame, files, counts)
    return frame


def to_csv(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_csv`` into a local file, as a step: each row of the file was made of the row of the frame."""
    _refuse(options, {"escapechar", "storage_options"}, "to_csv")
    _allow(options, "to_csv", mode="w", doublequote=True)
    if getattr(frame, "columns", None) is not None and (frame.columns.nlevels > 1 or (not len(frame.columns) and options.get("index") is False)):
        raise _untraceable("to_csv", "columns that take other than one line of header")
    header = options.get("header", True) is not False
    _write(frame, path, lambda: frame.to_csv(path, **options), "csv", _csv_options(options, header), home)


def to_json(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_json(orient="records", lines=True)`` into a local file, as a step."""
    options = {"orient": "records", "lines": True, **options}
    _refuse(options, {"storage_options", "indent"}, "to_json")
    _allow(options, "to_json", mode="w", lines=True, orient="records")
    _write(frame, path, lambda: frame.to_json(path, **options), "json", (), home)


def to_parquet(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_parquet`` into one local file, as a step."""
    _refuse(options, {"partition_cols", "storage_options", "filesystem"}, "to_parquet")
    _write(frame, path, lambda: frame.to_parquet(path, **options), "parquet", (), home)


def _read(path: Path, read: Callable[[], Any], form: str, options: tuple[tuple[str, str], ...]) -> Any:
    """What ``read`` gives. The digest of the file is taken meanwhile."""
    name = local(path)
    with stamping([name]) as stamps:
        frame = read()
    FRAMES.tell(frame, [Extent(name, Unit.ROW, form, options, stamps[name])], [len(frame)])
    return frame


@contextmanager
def stamping(paths: Sequence[str]) -> Iterator[dict[str, FileStamp | None]]:
    """Within, files are read, and their digests are taken beside that; behind it there are their stamps: without a digest if they were changed meanwhile."""
    stamps: dict[str, FileStamp | None] = {}
    with ThreadPoolExecutor(1) as beside:
        taken = {path: beside.submit(stamp_of, path) for path in paths}
        yield stamps
        stamps.update({path: _still(path, stamp.result()) for path, stamp in taken.items()})


def _write(frame: Any, path: Path, write: Callable[[], object], form: str, options: tuple[tuple[str, str], ...], home: Home) -> None:
    name = local(path)
    inputs, why = all_inputs([frame])
    with steady(f"write {os.path.basename(name)}", PANDAS, home) as actor:
        write()
        extent = Extent(name, Unit.ROW, form, options, stamp_of(name))
        actor.commit_as(inputs, rows_of([extent], [len(frame)]), one_to_one(len(frame)), why)


def rows_of(files: Sequence[Extent], counts: Sequence[int]) -> Items:
    """All rows of files, one file behind the other, as items."""
    import numpy as np

    runs = np.array([[sum(counts[:i]), count, i, 0, 1] for i, count in enumerate(counts) if count], np.int64).reshape(-1, 5)
    return Items(sum(counts), Places.of(files, runs))


def _still(path: str, stamp: FileStamp | None) -> FileStamp | None:
    """The stamp, without a digest if the file was changed while it was read: what was read may be neither."""
    now = stamp_of(path, digest=False)
    if stamp is None or now is None or (now.size, now.modified) == (stamp.size, stamp.modified):
        return stamp
    return FileStamp(now.size, now.modified)


def local(path: Any) -> str:
    """The absolute path of a local file. Raises UntraceableError for what is none."""
    if not isinstance(path, (str, os.PathLike)) or "://" in os.fspath(path):
        raise UntraceableError("Rows are known of local files alone", value=path, remedy="Give the path of a file; read others with pandas itself.")
    return located(path)


def _csv_options(options: dict[str, Any], header: bool) -> tuple[tuple[str, str], ...]:
    """In the words of Spark's reader, of what decides where a row begins. pandas follows RFC 4180."""
    sep = options.get("sep", options.get("delimiter")) or ","
    quote = options.get("quotechar", '"')
    if not isinstance(sep, str) or len(sep) != 1:
        raise _untraceable("a CSV", f"sep={sep!r}")
    return (*_encoding(options), ("escape", quote), ("header", str(header).lower()), ("multiLine", "true"), ("quote", quote), ("sep", sep))


def _encoding(options: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("encoding", str(options["encoding"])),) if options.get("encoding") else ()


def _refuse(options: dict[str, Any], names: Iterable[str], where: str) -> None:
    for name in names:
        if options.get(name) is not None and options[name] is not False:
            raise _untraceable(where, f"{name}={options[name]!r}")


def _allow(options: dict[str, Any], where: str, **only: Any) -> None:
    for name, value in only.items():
        if options.get(name, value) != value:
            raise _untraceable(where, f"{name}={options[name]!r}")


def _untraceable(where: str, what: str) -> UntraceableError:
    return UntraceableError(
        f"With {what}, which row of the file a row of the frame is cannot be said ({where})", remedy="Leave that out and do it in a step, or use pandas itself.",
    )
