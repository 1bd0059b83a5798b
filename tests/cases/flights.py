"""Flights, and marks of group-bys over them made without Spark: what linked views are tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bigdebug.trace.crossfilter.aggregates import Aggregate, Avg, Count, Max, Sum
from bigdebug.trace.crossfilter.associations import Coded
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.values import Values
from bigdebug.trace.crossfilter.views import View, Views

Made = Mapping[str, Callable[[pd.DataFrame], Aggregate]]
"""Aggregates by the name of their column, each of the rows."""

CARRIERS = ["AA", "AS", "B6", "DL", "EV", "F9", "HA", "UA", "VX", "WN"]
COUNT: Made = {"flights": lambda rows: Count()}


def flights(count: int, seed: int = 7) -> pd.DataFrame:
    """Flights of a year: more on some days than on others, late ones in the evening."""
    draws = np.random.default_rng(seed)
    days = np.abs(draws.normal(190, 90, count)).astype(int) % 365
    hours = np.clip(draws.normal(13, 4.5, count), 0, 23).astype(int)
    carriers = draws.choice(len(CARRIERS), count, p=np.arange(10, 0, -1) / 55)
    delays = np.round(draws.exponential(6 + hours * 1.4 + carriers * 1.5) - 12)
    first = date(2013, 1, 1)
    return pd.DataFrame({
        "carrier": np.array(CARRIERS, dtype=object)[carriers], "day": [first + timedelta(int(each)) for each in days], "hour": hours,
        "delay": delays, "late": (delays // 15 * 15).clip(-15, 180), "distance": np.round(draws.gamma(2.2, 430, count)) + 80, "weekday": days % 7,
    })


def grouped(name: str, rows: pd.DataFrame, keys: list[str], made: Made = COUNT, **more: Any) -> Marks:
    """The marks of ``rows`` grouped by ``keys``, NULL and NaN included, with what the aggregates make of all rows."""
    groups = rows.groupby(keys, dropna=False, sort=True)
    codes, known = groups.ngroup().to_numpy(), groups.size().reset_index()[keys]
    view = View(name, Coded(codes, len(known)), {column: make(rows) for column, make in made.items()})
    everything = Views([view]).answer(name, Selection()).values
    columns = {key: pa.array(known[key], from_pandas=key not in more.get("nan", ())) for key in keys}
    shown = {column: pa.array(np.ma.getdata(values).tolist(), mask=np.ma.getmaskarray(values)) for column, values in everything.items()}
    return Marks(name, columns | shown, view, more.get("notes", ()))


def each_row(name: str, rows: pd.DataFrame, columns: list[str]) -> Marks:
    """A mark for each row: nothing of it is recomputed."""
    return Marks(name, {column: pa.array(rows[column], from_pandas=False) for column in columns}, View(name, Coded(np.arange(len(rows)), len(rows))))


def mean_delay(rows: pd.DataFrame) -> Aggregate:
    return Avg(Values.of(rows["delay"].to_numpy()))


def views_of_flights(count: int) -> list[Marks]:
    """One of each kind."""
    rows = flights(count)
    return [
        grouped("by carrier", rows, ["carrier"]),
        grouped("by delay", rows, ["late"]),
        grouped("by day", rows, ["day"]),
        grouped("by weekday and hour", rows, ["weekday", "hour"], {"mean delay": mean_delay}),
        each_row("delay by distance", rows, ["distance", "delay"]),
        grouped("carriers", rows, ["carrier"], COUNT | {"mean delay": mean_delay, "miles": lambda rows: Sum(Values.of(rows["distance"].to_numpy())),
                                                          "worst": lambda rows: Max(Values.of(rows["delay"].to_numpy()))}),
    ]
