"""Writing: pandas' writers as steps. Each row of a file was made of the row of the frame. They write what pandas does, and call it as pandas does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import Associations, Unknown, one_to_one
from bigdebug.actors.callers import pandas_by_caller
from bigdebug.actors.files import allow, csv_options, of_pandas, refuse, rows_of, untraceable
from bigdebug.actors.frames import all_inputs
from bigdebug.actors.steady import PANDAS, steady
from bigdebug.errors import ActorError, SourceChangedError, UntraceableError
from bigdebug.trace.across.cuts import cuts_of
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import codec_of, pieces
from bigdebug.trace.across.stamps import stamp_of

if TYPE_CHECKING:
    import pandas as pd

    Path = str | os.PathLike[str]


def to_csv(frame: pd.DataFrame, path_or_buf: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_csv`` into a local file, as a step: each row of the file was made of the row of the frame."""
    refuse(options, ("escapechar", "storage_options"), "to_csv")
    allow(options, "to_csv", mode="w", doublequote=True, compression="infer")
    if options.get("lineterminator") not in (None, "\n", "\r\n"):
        raise untraceable("to_csv", f"lineterminator={options['lineterminator']!r}")
    if getattr(frame, "columns", None) is not None and (frame.columns.nlevels > 1 or (not len(frame.columns) and options.get("index") is False)):
        raise untraceable("to_csv", "columns that take other than one line of header")
    header = _has_header(options.get("header", True))
    _write(frame, path_or_buf, lambda: pandas_by_caller(frame.to_csv, path_or_buf, **options), "csv", csv_options(options, header), home, lambda extent: _torn(frame, extent, options))


def to_json(frame: pd.DataFrame, path_or_buf: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_json(orient="records", lines=True)`` into a local file, as a step."""
    options = {"orient": "records", "lines": True, **options}
    refuse(options, ("storage_options", "indent"), "to_json")
    allow(options, "to_json", mode="w", lines=True, orient="records", compression="infer")
    _write(frame, path_or_buf, lambda: pandas_by_caller(frame.to_json, path_or_buf, **options), "json", (), home)


def to_parquet(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_parquet`` into one local file, as a step."""
    refuse(options, ("partition_cols", "storage_options", "filesystem"), "to_parquet")
    _write(frame, path, lambda: pandas_by_caller(frame.to_parquet, path, **options), "parquet", (), home)


def _write(
    frame: Any, path: Path, write: Callable[[], object], form: str, options: tuple[tuple[str, str], ...], home: Home,
    torn: Callable[[Extent], str] = lambda extent: "",
) -> None:
    name = of_pandas(path, form)
    if not hasattr(frame, "iloc"):
        raise ActorError("What is written as a step is a frame", value=frame, remedy="Give a frame of pandas; write other things with a program of your own: actors.register.")
    inputs, why = all_inputs([frame])
    with steady(f"write {os.path.basename(name)}", PANDAS, home, writes=[name]) as actor:
        write()
        extent = Extent(name, Unit.ROW, form, options, stamp_of(name), len(frame))
        broken = torn(extent)
        associations: Associations = Unknown(broken) if broken else one_to_one(len(frame))
        actor.commit_as(inputs, rows_of([extent], [len(frame)]), associations, (*why, *([broken] if broken else ())))


def _has_header(said: Any) -> bool:
    """Whether pandas writes one: other names are given in a list, and whatever is false is none."""
    import pandas as pd

    return isinstance(said, (list, tuple, np.ndarray, pd.Index)) or bool(said)


def _torn(frame: Any, extent: Extent, options: dict[str, Any]) -> str:
    """Why the rows of a CSV are not those of the frame; empty if they are. pandas does not quote a carriage return, which other readers, and its own, end a row at, nor blanks, which
    they skip where a row has nothing else.

    Only a file that may have such is read again.
    """
    name = os.path.basename(extent.path)
    try:
        doubtful = _returns(extent.path, options) or _fields(frame, options) < 2
    except (UntraceableError, SourceChangedError) as problem:  # a pipe, or compressed in a way that is not read here
        return f"The rows of {name} cannot be looked at: {problem.what}"
    try:
        if not doubtful or len(cuts_of(extent)) == len(frame):
            return ""
    except (UntraceableError, SourceChangedError) as problem:
        return f"The rows of {name} cannot be told from each other: {problem.what}. Write it with quoting=1"
    return f"The rows of {name} are not those of the frame, for readers end a row at a carriage return, and skip blank ones: write it with quoting=1"


def _fields(frame: Any, options: dict[str, Any]) -> int:
    """How many fields a row has in the file."""
    columns = options.get("columns")
    own = len(columns) if columns is not None else frame.shape[1] if frame.ndim > 1 else 1
    return int(own + (frame.index.nlevels if options.get("index", True) else 0))


def _returns(path: str, options: dict[str, Any]) -> bool:
    """Whether there is a carriage return that does not end a line."""
    return options.get("lineterminator") != "\r\n" and any(b"\r" in piece for piece in pieces(path, codec_of(options.get("encoding") or "")))
