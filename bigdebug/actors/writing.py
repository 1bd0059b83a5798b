"""Writing: pandas' writers as steps. Each row of a file was made of the row of the frame. They write what pandas does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import Associations, Unknown, one_to_one
from bigdebug.actors.files import allow, csv_options, of_pandas, refuse, rows_of, untraceable
from bigdebug.actors.frames import all_inputs
from bigdebug.actors.steady import PANDAS, steady
from bigdebug.errors import SourceChangedError, UntraceableError
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import codec_of, pieces
from bigdebug.trace.across.stamps import stamp_of

if TYPE_CHECKING:
    import pandas as pd

    Path = str | os.PathLike[str]


def to_csv(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_csv`` into a local file, as a step: each row of the file was made of the row of the frame."""
    refuse(options, ("escapechar", "storage_options"), "to_csv")
    allow(options, "to_csv", mode="w", doublequote=True, compression="infer")
    if options.get("lineterminator") not in (None, "\n", "\r\n"):
        raise untraceable("to_csv", f"lineterminator={options['lineterminator']!r}")
    if getattr(frame, "columns", None) is not None and (frame.columns.nlevels > 1 or (not len(frame.columns) and options.get("index") is False)):
        raise untraceable("to_csv", "columns that take other than one line of header")
    header = _has_header(options.get("header", True))
    _write(frame, path, lambda: frame.to_csv(path, **options), "csv", csv_options(options, header), home, lambda: _torn(frame, path, options, header))


def to_json(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_json(orient="records", lines=True)`` into a local file, as a step."""
    options = {"orient": "records", "lines": True, **options}
    refuse(options, ("storage_options", "indent"), "to_json")
    allow(options, "to_json", mode="w", lines=True, orient="records", compression="infer")
    _write(frame, path, lambda: frame.to_json(path, **options), "json", (), home)


def to_parquet(frame: pd.DataFrame, path: Path, *, home: Home = None, **options: Any) -> None:
    """``frame.to_parquet`` into one local file, as a step."""
    refuse(options, ("partition_cols", "storage_options", "filesystem"), "to_parquet")
    _write(frame, path, lambda: frame.to_parquet(path, **options), "parquet", (), home)


def _write(
    frame: Any, path: Path, write: Callable[[], object], form: str, options: tuple[tuple[str, str], ...], home: Home, torn: Callable[[], str] = str,
) -> None:
    name = of_pandas(path, form)
    inputs, why = all_inputs([frame])
    with steady(f"write {os.path.basename(name)}", PANDAS, home) as actor:
        write()
        extent = Extent(name, Unit.ROW, form, options, stamp_of(name), len(frame))
        broken = torn()
        associations: Associations = Unknown(broken) if broken else one_to_one(len(frame))
        actor.commit_as(inputs, rows_of([extent], [len(frame)]), associations, (*why, *([broken] if broken else ())))


def _has_header(said: Any) -> bool:
    """Whether pandas writes one: other names are given in a list, and whatever is false is none."""
    import pandas as pd

    return isinstance(said, (list, tuple, np.ndarray, pd.Index)) or bool(said)


def _torn(frame: Any, path: Path, options: dict[str, Any], header: bool) -> str:
    """Why the rows of a CSV are not those of the frame; empty if they are. pandas does not quote a carriage return, which other readers, and its own, end a row at.

    Only a file that has one is read again.
    """
    import pandas as pd

    try:
        if options.get("lineterminator") == "\r\n" or not any(b"\r" in piece for piece in pieces(of_pandas(path, "csv"), codec_of(options.get("encoding") or ""))):
            return ""
    except (UntraceableError, SourceChangedError) as problem:  # a pipe, or compressed in a way that is not read here
        return f"The rows of {os.path.basename(path)} cannot be looked at: {problem.what}"
    known = {name: options[name] for name in ("sep", "quotechar", "quoting", "encoding") if name in options}
    try:
        read = len(pd.read_csv(path, header=0 if header else None, dtype=str, **known))
    except (ValueError, pd.errors.EmptyDataError):
        read = -1
    return "" if read == len(frame) else f"A carriage return in a cell ends a row of {os.path.basename(path)}, so its rows are not those of the frame: write it with quoting=1"
