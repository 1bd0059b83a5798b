"""Actions: the methods of PySpark's DataFrames and writers that run a query, told to the recorder of their session."""

from __future__ import annotations

import functools
from typing import Any

from pyspark.sql import DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from bigdebug.spark.callers import called_by_user
from bigdebug.spark.jobs import tagged

RECORDER = "_bigdebug_frames"
"""Where a SparkSession keeps its recorder while bigdebug is attached to it."""

_FRAMES = (
    "collect", "count", "head", "first", "take", "tail", "isEmpty", "show", "toPandas", "toArrow", "toLocalIterator",
)
_CALLED = {"_to_pandas": "toPandas"}
"""Methods that PySpark itself calls in the place of an action, and what the user knows them by: ``_to_pandas`` is that of its pandas API."""

_WRITERS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (DataFrameWriter, ("save", "saveAsTable", "insertInto", "json", "parquet", "text", "csv", "orc", "xml", "jdbc")),
    (DataFrameWriterV2, ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions")),
)

_CHECKPOINTS = ("checkpoint", "localCheckpoint")
"""Methods that give a DataFrame of the same rows, which has forgotten its query."""

_plain: dict[tuple[type, str], Any] = {}
"""PySpark's own methods, while ours stand in their place."""


def install() -> None:
    """From here on the actions of all sessions pass by; those without a recorder run as they are."""
    for kind, names in ((DataFrame, (*_FRAMES, *_CALLED)), *_WRITERS):
        for name in names:
            if (kind, name) not in _plain and name in vars(kind):
                _plain[kind, name] = vars(kind)[name]
                setattr(kind, name, _told(_CALLED.get(name, name), vars(kind)[name], kind is DataFrame))
    if (SparkSession, "sql") not in _plain:
        _plain[SparkSession, "sql"] = vars(SparkSession)["sql"]
        SparkSession.sql = _commanded(SparkSession.sql)  # type: ignore[method-assign]
    for name in _CHECKPOINTS:
        if (DataFrame, name) not in _plain:
            _plain[DataFrame, name] = vars(DataFrame)[name]
            setattr(DataFrame, name, _remembered(vars(DataFrame)[name]))


def uninstall() -> None:
    for (kind, name), method in _plain.items():
        setattr(kind, name, method)
    _plain.clear()


def unheard(frame: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """What an action gives, which is not the user's: no capture notes it, and it is not recorded among what the session does with datasets."""
    with tagged(frame.sparkSession.sparkContext):
        return _plain.get((DataFrame, name), getattr(DataFrame, name))(frame, *args, **kwargs)


def _remembered(method: Any) -> Any:
    @functools.wraps(method)
    def remembered(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = method(self, *args, **kwargs)
        recorder = vars(self.sparkSession).get(RECORDER)
        if recorder is not None:
            recorder.crossing.seams.checkpointed(made, self)
        return made

    return remembered


def _commanded(method: Any) -> Any:
    @functools.wraps(method)
    def sql(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = vars(self).get(RECORDER)
        if recorder is None:
            return method(self, *args, **kwargs)
        with recorder.commanding() as gave:
            frame = method(self, *args, **kwargs)
            gave(frame)
        return frame

    return sql


def _told(name: str, method: Any, of_frame: bool) -> Any:
    @functools.wraps(method)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        frame = self if of_frame else self._df
        recorder = vars(frame.sparkSession).get(RECORDER)
        if recorder is None:
            return method(self, *args, **kwargs)

        def again(other: Any) -> Any:
            return told(other, *args, **kwargs)

        action = recorder.action(name if of_frame else f"write.{name}", frame, again if of_frame else None)
        action.call = None if of_frame else (self, args, kwargs)
        try:
            with recorder.interruptible(), called_by_user(recorder.spark.sparkContext, name), recorder.acting(action, of_frame):
                action.result = method(action.frame_to_run if of_frame else self, *args, **kwargs)
            return action.followed(action.result) if action.lazy else action.result
        except Exception:
            if action.instead is None:
                raise
            return action.instead.result

    return told
