"""Linked views of three million flights: whichever bar is brushed, all others show what pandas counts and adds up on its rows (Smoke 6.5.1)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.views import Views

ROWS = 3_000_000
BY = {"place": "int(pow(pmod(hash(id, 1), 1000) / 1000, 3) * 300)", "date": f"date'2013-01-01' + int(id * 365 div {ROWS})", "delay": "int(log2(1000 / (1 + pmod(hash(id, 2), 1000))))",
      "carrier": "concat('C', int(pow(pmod(hash(id, 3), 1000) / 1000, 2) * 29))"}
SOON = 0.050
"""Seconds within which a brush is not felt."""


@pytest.mark.slow
def test_every_bar_of_three_million_flights(spark: Any, dbg: Any) -> None:
    flights = spark.range(0, ROWS, 1, 4).selectExpr("id", *(f"{made} {column}" for column, made in BY.items()), "int(id % 997) - 300 late")
    frames = [flights.groupBy(column).agg(F.count("*").alias("n"), F.sum("late").alias("s")).orderBy(column) for column in BY]
    began = time.perf_counter()
    marks = dbg.marks(*frames)
    print(f"marks of {ROWS:,} flights in {time.perf_counter() - began:.1f} s")  # noqa: T201 (measured, not asserted)
    assert [each.name for each in marks] == [*BY]
    views = Views([each.view for each in marks])
    views.prepare()
    data, bars = flights.select(*BY, "late").toArrow().to_pandas(), {each.name: each.columns[each.name].to_pandas() for each in marks}
    codes = {name: pd.Index(known).get_indexer(data[name]) for name, known in bars.items()}
    seconds = []
    for brushed, known in bars.items():
        pairs = {other: codes[brushed] * len(bars[other]) + codes[other] for other in bars if other != brushed}
        counts = {other: np.bincount(pair, minlength=len(known) * len(bars[other])).reshape(len(known), -1) for other, pair in pairs.items()}
        sums = {other: np.bincount(pair, data.late, len(known) * len(bars[other])).reshape(len(known), -1) for other, pair in pairs.items()}
        for bar in range(len(known)):
            began = time.perf_counter()
            answers = views.answers(Selection().brushed(brushed, [bar]), pairs)
            seconds.append(time.perf_counter() - began)
            for other, answer in answers.items():
                assert np.array_equal(answer.counts, counts[other][bar])
                assert np.array_equal(answer.values["n"], counts[other][bar])
                assert np.array_equal(answer.values["s"].filled(0), sums[other][bar])
    print(f"{np.mean(np.array(seconds) <= SOON):.1%} of {len(seconds)} bars within {SOON * 1000:.0f} ms, the slowest in {max(seconds) * 1000:.0f} ms")  # noqa: T201
