"""N2: what it costs to capture a step that is not Spark's: time captured / time of the same step as it is.

Frames of a million rows at scale 1, in memory and from file to file; generators over the lines of the text that other measures count words in, in memory and from file to
file; a program. The home of actors is in a file system as users have it.
"""

from __future__ import annotations

import gc
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.inputs import Inputs
from benchmarks.pairs import alternate
from benchmarks.results import Result, of_sample
from benchmarks.sides import Sides
from bigdebug import actors

MOST = 1.36
"""Newt's worst on real workflows (its Table 2)."""

Step = Callable[[], Any]


def capture_costs(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """N2: each step both ways, in turn."""
    for subject, must, plain, captured in steps(inputs, scratch):
        pairs = alternate(lambda step=plain: _taken(step), lambda step=captured: _taken(step), repeats)
        remark = f"{pairs.first.median:.2f} s and {pairs.second.median:.2f} s"
        yield of_sample("N2", subject, "x", pairs.ratios, inputs.scale, must=must, remark=remark)
    size = sum(path.stat().st_size for path in (scratch / "actors").rglob("*") if path.is_file())
    count = len(actors.steps(scratch / "actors"))
    yield Result("N2", "all steps: lineage kept, each", "kB", size / 1e3 / max(1, count), None, inputs.scale)


def steps(inputs: Inputs, scratch: Path) -> Iterator[tuple[str, float | None, Step, Step]]:
    """What is measured, the most that it may cost, and both ways to do it."""
    home, text = scratch / "actors", inputs.text
    rows = max(1_000, round(1_000_000 * inputs.scale))
    frame, table = _frame(rows), scratch / "orders.csv"
    frame.to_csv(table, index=False)
    clean, sums = actors.rows(_clean, home=home), actors.groups(_sums, by="city", home=home)
    yield "pandas: filter and columns, in memory", MOST, lambda: _clean(frame), lambda: clean(frame)
    yield "pandas: group by, in memory", MOST, lambda: _sums(frame), lambda: sums(frame)
    read = pd.read_csv(table)
    yield "pandas: group by of what was read from a file", MOST, lambda: _sums(read), lambda: sums(read)
    days = actors.groups(_days, by="day", home=home)
    yield "pandas: group by integers, in memory", MOST, lambda: _days(frame), lambda: days(frame)
    late = actors.rows(_late, home=home)
    yield "pandas: two steps, one behind the other, in memory", MOST, lambda: _late(_clean(frame)), lambda: late(clean(frame))
    texts, no_other = _texts(frame), actors.rows(_no_other, home=home)
    yield "pandas: filter of four columns of texts, in memory", MOST, lambda: _no_other(texts), lambda: no_other(texts)
    cities = frame[["city"]].drop_duplicates().assign(code=range(50))
    yield "pandas: merge, in memory", MOST, lambda: frame.merge(cities, on="city"), lambda: actors.merge(frame, cities, on="city", home=home)
    out = scratch / "out.csv"
    yield (
        "pandas: CSV to CSV", MOST, lambda: _clean(pd.read_csv(table)).to_csv(out, index=False),
        lambda: actors.to_csv(clean(actors.read_csv(table)), out, home=home, index=False),
    )
    lines = text.read_text().splitlines()
    words = actors.generator(_words, each=True, home=home)
    yield "generator: lines to words, counted", MOST, lambda: Counter(_words(lines)), lambda: Counter(words(lines))
    yield "generator: lines to words, which nobody uses", None, lambda: _drained(_words(lines)), lambda: _drained(words(lines))
    since = actors.generator(_longest, home=home)
    yield "generator: a few outputs of all, in memory", MOST, lambda: _drained(_longest(lines)), lambda: _drained(since(lines))
    upper = actors.lines(_upper, each=True, home=home)
    yield "generator: lines from file to file", MOST, lambda: _plain_lines(text, out), lambda: upper(text, out)
    yield "calls: three for each line", None, lambda: _drained(_upper(lines)), lambda: _called(lines, home)
    argv = ["grep", "-v", "the", str(text)]
    yield "program: grep -v", None, lambda: _grep(argv, out), lambda: actors.program(argv, reads=text, stdout=out, lineage="filter", home=home)


def _frame(rows: int) -> pd.DataFrame:
    drawn = np.random.default_rng(7)
    return pd.DataFrame({
        "id": np.arange(rows), "city": np.array([f"city {n}" for n in range(50)])[drawn.integers(0, 50, rows)],
        "amount": drawn.normal(100, 50, rows).round(2), "day": drawn.integers(1, 366, rows),
    })


def _clean(frame: pd.DataFrame) -> pd.DataFrame:
    kept = frame[frame.amount > 20]
    return kept.assign(taxed=kept.amount * 1.17, city=kept.city.str.upper(), week=kept.day // 7)


def _sums(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby("city", as_index=False).agg(total=("amount", "sum"), mean=("amount", "mean"), days=("day", "nunique"))


def _days(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby("day").agg(total=("amount", "sum"), most=("amount", "max"), cities=("city", "nunique"))


def _late(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame.week > 26].assign(half=lambda kept: kept.taxed / 2)


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Four columns of texts, each an object of its own."""
    return pd.DataFrame({"city": frame.city, "id": frame.id.astype(str), "day": "day " + frame.day.astype(str), "amount": frame.amount.astype(str)})


def _no_other(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame.id.str.endswith("7") | (frame.city < "city 4")]


def _words(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        for word in line.split():
            yield word.lower(), len(word)


def _longest(lines: Iterable[str]) -> Iterator[str]:
    longest = ""
    for line in lines:
        words = line.split()
        if words and len(max(words, key=len)) > len(longest):
            longest = max(words, key=len)
            yield longest


def _upper(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        fields = line.split()
        if len(fields) > 2:
            yield " ".join(sorted(fields)).upper() + "\n"


def _plain_lines(source: Path, target: Path) -> None:
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as out:
        out.writelines(_upper(lines))


def _called(lines: list[str], home: Path) -> None:
    with actors.register("calls", home=home) as actor:
        for line in lines:
            actor.reset()
            actor.add_input()
            for _ in _upper((line,)):
                actor.add_output()


def _grep(argv: list[str], out: Path) -> None:
    with out.open("wb") as file:
        subprocess.run(argv, stdout=file, check=True)


def _drained(records: Iterable[Any]) -> None:
    for _ in records:
        pass


def _taken(step: Step) -> float:
    """Seconds of a step; garbage is collected before."""
    gc.collect()
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
