"""P7: how long it takes until linked views show what is behind a brushed bar, for every bar, from cold and prepared (Smoke 6.5.1).

Four views count the flights of two decades by place, date, delay and carrier: as many bars as Smoke's, as skewed as real flights, drawn with a fixed seed. Scale 1 is 24 M rows,
5.1458 Smoke's 123.5 M. A brush is measured until all three other views have their counts. Beside it, where DuckDB is installed: grouping anew in DuckDB what a bar selects, and the way of
Mosaic there, which is a table of counts by pairs of bars, made at the first brush of a view. Spark takes no part.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.inputs import Inputs
from benchmarks.pairs import DifferentAnswersError
from benchmarks.results import Result
from benchmarks.sides import Sides
from bigdebug.trace.crossfilter.associations import Coded, Hashed
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.views import View, Views

ROWS = 24_000_000
BARS = {"place": 8_100, "date": 7_762, "delay": 8, "carrier": 29}
SEED = 7
TIMES = 3
"""Each bar is brushed so often, and its median counts."""
MUST = 50.0
MUST_LARGE = 150.0
COLD = 30.0

Codes = dict[str, npt.NDArray[Any]]


def flights(rows: int) -> Codes:
    """The bar of each row in each view; rows stand by date, as the files of the flights do."""
    draws = np.random.default_rng([SEED, rows])
    growth = np.linspace(1.0, 1.6, BARS["date"]) * np.where(np.arange(BARS["date"]) % 7 < 5, 1.0, 0.8)
    shares = {
        "place": 1 / (np.arange(BARS["place"]) + 3.0), "date": growth, "delay": np.array([0.55, 0.17, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01]),
        "carrier": 1 / (np.arange(BARS["carrier"]) + 2.0),
    }
    found = {view: _drawn(draws, share / share.sum(), rows) for view, share in shares.items()}
    found["date"].sort()
    return found


def _drawn(draws: np.random.Generator, shares: npt.NDArray[np.float64], rows: int) -> npt.NDArray[Any]:
    """Of each 65,536 numbers as many as a bar's share stand for it: quick, and exact to 1 in 65,536."""
    owners = np.searchsorted(np.cumsum(shares), (np.arange(1 << 16) + 0.5) / (1 << 16)).clip(max=len(shares) - 1)
    owners = owners.astype(np.min_scalar_type(len(shares)))
    found = np.empty(rows, dtype=owners.dtype)
    for start in range(0, rows, 1 << 20):
        size = min(1 << 20, rows - start)
        found[start: start + size] = owners[draws.integers(0, 1 << 16, size, dtype=np.uint16)]
    return found


def time_to_linked(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P7: the first brush of each view, the preparation, every bar, brushes that combine, and DuckDB beside."""
    codes = flights(round(ROWS * inputs.scale))
    flown = Flights(codes, MUST if len(codes["date"]) <= ROWS else MUST_LARGE, inputs.scale)
    yield flown.drawn()
    yield flown.cold()
    yield flown.by_keys()
    yield flown.prepared()
    yield from flown.every_bar()
    yield from flown.combined()
    if importlib.util.find_spec("duckdb"):
        yield from flown.beside_duckdb()


@dataclass
class Flights:
    codes: Codes
    must: float
    scale: float

    def __post_init__(self) -> None:
        self.largest = {view: int(np.argmax(np.bincount(codes, minlength=BARS[view]))) for view, codes in self.codes.items()}
        self.views = self._views()

    def _views(self) -> Views:
        return Views([View(name, Coded(codes, BARS[name])) for name, codes in self.codes.items()])

    def _result(self, subject: str, unit: str, value: float, remark: str = "", must: float | None = None, **detail: Any) -> Result:
        print(f"  {subject}: {value:.3g} {unit} {remark}", file=sys.stderr)
        return Result("P7", subject, unit, value, None, self.scale, must=must, remark=remark, detail=detail)

    def drawn(self) -> Result:
        seconds = statistics.median(timed(lambda: self._views().answers(Selection()))[0] for _ in range(TIMES))
        return self._result("all views, of the codes of the rows", "ms", seconds * 1000)

    def cold(self) -> Result:
        """The largest bar of a view, when the views have been drawn and nothing else was made."""
        seconds = {}
        for name, bar in self.largest.items():
            views = self._views()
            views.answers(Selection())
            seconds[name] = timed(lambda views=views, name=name, bar=bar: brush(views, name, bar))[0] * 1000  # type: ignore[misc]
        return self._result("first brush after that, the largest bar of each view", "ms", max(seconds.values()), spelled(seconds), self.must * 10, milliseconds=seconds)

    def by_keys(self) -> Result:
        """The same with places by their keys instead of codes: BT beside BT+FT."""
        keys = pa.array(self.codes["place"].astype(np.int64) * 1_000_003)
        known = pa.array(np.arange(BARS["place"]) * 1_000_003)
        views = Views([View("place", Coded(Hashed(keys, known), BARS["place"])), *(View(n, Coded(c, BARS[n])) for n, c in self.codes.items() if n != "place")])
        seconds = {}
        for name in ("delay", "carrier", "date"):
            selection = Selection().brushed(name, [self.largest[name]])
            seconds[name] = timed(lambda selection=selection: views.answer("place", selection))[0] * 1000  # type: ignore[misc]
        return self._result("the same, for places alone, grouped anew by keys (BT)", "ms", max(seconds.values()), spelled(seconds), milliseconds=seconds)

    def prepared(self) -> Result:
        seconds, _ = timed(self.views.prepare)
        return self._result("indexes of all views, cubes of their large bars", "s", seconds, f"{self.views.nbytes / 2**20:,.0f} MiB in all", COLD, bytes=self.views.nbytes)

    def every_bar(self) -> Iterator[Result]:
        """Every bar of every view, all of them once, then all again, so that none is asked for twice in a row."""
        taken = [self._pass() for _ in range(TIMES)]
        for view, bars in BARS.items():
            milliseconds = np.median([each[view] for each in taken], axis=0) * 1000
            share = (milliseconds <= 150).mean()
            remark = f"median {np.median(milliseconds):.3f} ms, {share:.2%} of {bars:,} bars within 150 ms"
            yield self._result(f"slowest bar of {view}", "ms", float(milliseconds.max()), remark, self.must, highest=np.sort(milliseconds)[-20:].tolist())

    def _pass(self) -> dict[str, list[float]]:
        return {view: [timed(lambda view=view, bar=bar: brush(self.views, view, bar))[0] for bar in range(bars)] for view, bars in BARS.items()}  # type: ignore[misc]

    def combined(self) -> Iterator[Result]:
        """A brush over half of the dates beside the largest delay, and the days by which it moves on."""
        half = BARS["date"] // 2
        selections = [
            Selection().brushed("delay", [self.largest["delay"]]).brushed("date", range(day, day + half)) for day in range(40)
        ]
        seconds = [timed(lambda selection=selection: self.views.answers(selection))[0] * 1000 for selection in selections]  # type: ignore[misc]
        yield self._result("half of the dates and the largest delay, at once", "ms", seconds[0], f"{counted(self.views, selections[0]):,} rows")
        yield self._result("the same brush, moved by a day", "ms", statistics.median(seconds[1:]), f"slowest {max(seconds[1:]):.1f} ms", self.must)

    def beside_duckdb(self) -> Iterator[Result]:
        import duckdb

        connection = duckdb.connect(config={"threads": 2})
        connection.register("given", pa.table(self.codes))
        connection.execute("create table flights as select * from given")
        again, first, then = {}, {}, {}
        for view, bar in self.largest.items():
            others = [other for other in BARS if other != view]
            queries = [f"select {other}, count(*) from flights where {view} = {bar} group by all" for other in others]
            again[view] = least(lambda queries=queries: [connection.execute(query).fetchnumpy() for query in queries]) * 1000  # type: ignore[misc]
            tables = [f"create or replace temp table by_{view}_{other} as select {view}, {other}, count(*) as flights from flights group by all" for other in others]
            first[view] = timed(lambda tables=tables: [connection.execute(table) for table in tables])[0] * 1000  # type: ignore[misc]
            slices = [f"select {other}, sum(flights)::bigint from by_{view}_{other} where {view} = {bar} group by all" for other in others]
            then[view] = least(lambda slices=slices: [connection.execute(each).fetchnumpy() for each in slices]) * 1000  # type: ignore[misc]
            rows = dict(connection.execute(queries[0]).fetchall())
            if rows != {at: count for at, count in enumerate(brush(self.views, view, bar)[others[0]].counts.tolist()) if count}:
                raise DifferentAnswersError(f"DuckDB counts others for bar {bar} of {view}")
        yield self._result("DuckDB groups anew, largest bars", "ms", max(again.values()), spelled(again), milliseconds=again)
        yield self._result("Mosaic's tables in DuckDB, made at the first brush of a view", "ms", max(first.values()), spelled(first), milliseconds=first)
        yield self._result("Mosaic's tables in DuckDB, asked about the largest bars", "ms", max(then.values()), spelled(then), milliseconds=then)


def brush(views: Views, view: str, bar: int) -> dict[str, Any]:
    return views.answers(Selection().brushed(view, [bar]), [other for other in BARS if other != view])


def counted(views: Views, selection: Selection) -> int:
    """How many rows pass the whole selection: what a view shows that it is not about."""
    return int(views.answer("carrier", selection).counts.sum())


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def least(call: Callable[[], Any]) -> float:
    return statistics.median(timed(call)[0] for _ in range(TIMES))


def spelled(milliseconds: dict[str, float]) -> str:
    return ", ".join(f"{view} {each:.1f}" for view, each in milliseconds.items())
