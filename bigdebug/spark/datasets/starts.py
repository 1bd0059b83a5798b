"""Starts: streams that fail to start, of which Spark tells its listeners nothing."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from pyspark.sql.streaming.readwriter import DataStreamWriter

from bigdebug.datasets.model import Access, Process
from bigdebug.datasets.naming import of_path
from bigdebug.spark.datasets.doing import wrapped
from bigdebug.spark.datasets.places import qualified
from bigdebug.spark.datasets.processes import Processes
from bigdebug.spark.datasets.reading import Reading

log = logging.getLogger("bigdebug")


def watch_starts(sc: Any, processes: Processes, read: Callable[[Any], Reading | None], tell: Callable[[Process], None]) -> list[Callable[[], None]]:
    """Let the methods that start streams be told of when they raise; what is given back undoes it. A stream that starts costs nothing."""

    def failed(writer: Any, began: datetime, problem: Exception, path: Any, name: Any) -> Process:
        reading = read(writer._df)
        writes = () if path is None else (Access(of_path(qualified(sc, str(path), is_pattern=False), kind="files"), "appended"),)
        return Process(
            str(uuid.uuid4()), f"{processes.name}.stream.{name or 'unnamed'}", "stream", processes.session, began, datetime.now(timezone.utc), "failed",
            f"{type(problem).__name__}: {problem}", reads=() if reading is None else reading.reads, writes=writes,
            opaque=() if reading is None else reading.opaque, cell=processes.cell_at(began), text=str(name or ""),
        )

    def starting(method: Any, writer: Any, *args: Any, **kwargs: Any) -> Any:
        began = datetime.now(timezone.utc)
        try:
            return method(writer, *args, **kwargs)
        except Exception as problem:
            path = kwargs.get("path", args[0] if args else None) if method.__name__ == "start" else None
            try:
                tell(failed(writer, began, problem, path, kwargs.get("queryName")))
            except Exception as trouble:  # the user hears of his own
                log.warning("bigdebug could not record a stream that failed to start: %s", type(trouble).__name__)
            raise

    return [wrapped(DataStreamWriter, method, starting) for method in ("start", "toTable")]
