"""Turns: frames that are transposed. Spark reads them while it looks at what is asked, and keeps the rows alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyspark.sql.classic.dataframe import DataFrame

from bigdebug.spark.datasets.counts import ids_of
from bigdebug.spark.datasets.doing import wrapped
from bigdebug.spark.datasets.reading import Reading
from bigdebug.spark.datasets.seen import Seen

log = logging.getLogger("bigdebug")


def watch_turns(seen: Seen, read: Callable[[Any], Reading | None]) -> list[Callable[[], None]]:
    """Let what a transposed frame was made of be seen; what is given back undoes it. Takes as long as reading a plan, and Spark a job."""
    if "transpose" not in vars(DataFrame):  # before Spark 4
        return []

    def turning(method: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        made = method(frame, *args, **kwargs)
        try:
            reading = read(frame)
            if reading is not None:
                seen.turns(ids_of(made._jdf.queryExecution().analyzed()), tuple(access.dataset for access in reading.reads))
        except Exception as trouble:  # the user's frame comes first
            log.info("bigdebug does not know what was transposed: %s", type(trouble).__name__)
        return made

    return [wrapped(DataFrame, "transpose", turning)]
