"""The RDD programs of the acceptance cases, their data by formula, and what their outputs are computed from.

``Case.meaning`` is the reference: plain Python over the lines, which knows nothing of Spark or bigdebug. The larger
data are the same formula with other keys before and behind the rows of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

Pairs = Callable[[str], list[tuple[Any, Any]]]


@dataclass(frozen=True)
class Case:
    """A program over lines of text. ``pairs`` is what a line adds to groups, ``summary`` what a group becomes.

    ``faulty`` tells a wrong output; ``culprits`` are the corrupt lines behind each wrong output, by its key. ``inserted`` are the lines that the case adds
    to those of its formula.
    """

    name: str
    lines: tuple[str, ...]
    more: Callable[[int], Iterable[str]]
    copies: int
    pairs: Pairs
    summary: Callable[[list[Any]], Any]
    program: Callable[[Any], Any]
    faulty: Callable[[Any], bool]
    culprits: dict[Any, tuple[str, ...]]
    inserted: tuple[str, ...]

    def scaled(self) -> tuple[str, ...]:
        """Some twenty thousand lines, those of the case in their middle."""
        others = [tuple(self.more(copy)) for copy in range(1, self.copies + 1)]
        half = len(others) // 2
        return tuple(line for block in (*others[:half], self.lines, *others[half:]) for line in block)

    def meaning(self, lines: Iterable[str]) -> dict[Any, tuple[Any, frozenset[int]]]:
        """By key: the output, and the numbers of the lines (from 1) that it is computed from."""
        groups: dict[Any, list[tuple[int, Any]]] = {}
        for number, line in enumerate(lines, 1):
            for key, value in self.pairs(line):
                groups.setdefault(key, []).append((number, value))
        return {
            key: ((key, self.summary([v for _, v in group])), frozenset(n for n, _ in group))
            for key, group in groups.items()
        }


# ---- airport at midnight ------------------------------------------------------------------------------------------


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02d}"


def _flights(mark: str) -> list[str]:
    airports = ("LAX", "SEA", "JFK", "ORD", "ATL", "MNN")
    found = []
    for i in range(240):
        arrival = (6 + i % 16) * 60 + i % 31
        times = f"{_clock(arrival)},{_clock(arrival + 5 + i % 36)}"
        found.append(f"3/{i % 28 + 1}/17,{100000 + i},{times},{airports[i % 6]}{mark}")
    return found


def minutes(clock: str) -> int:
    hours, rest = clock.split(":")
    return 60 * int(hours) + int(rest)


def stay(line: str) -> tuple[tuple[str, str], int]:
    _, _, arrival, departure, airport = line.split(",")
    return (airport, arrival.split(":")[0]), minutes(departure) - minutes(arrival)


def _airport() -> Case:
    lines = _flights("")
    midnight = "11/9/12,141011,23:53,1:23,MNN"
    lines.insert(117, midnight)
    return Case(
        "airport at midnight", tuple(lines), lambda copy: _flights(str(copy)), 83,
        lambda line: [pair for pair in [stay(line)] if pair[1] < 45], sum,
        lambda rdd: rdd.map(stay).filter(lambda pair: pair[1] < 45).reduceByKey(add, 4),
        lambda out: out[1] < 0, {("MNN", "23"): (midnight,)}, (midnight,),
    )


# ---- weather in inches: a pair ------------------------------------------------------------------------------------


def _snow(shift: int) -> list[str]:
    found = []
    for i in range(300):
        snow = f"{i * 7 % 160}mm" if i % 2 else f"{(i % 5) / 10}ft"
        found.append(f"{30000 + shift + (i % 7) * 13},{i % 28 + 1}/{i % 12 + 1}/{2000 + shift * 6 + i % 6},{snow}")
    return found


def snowfall(line: str) -> list[tuple[tuple[int, str], float]]:
    code, date, snow = line.split(",")
    amount = float(snow[:-2]) * (1 if snow.endswith("mm") else 304.8)
    day, month, year = date.split("/")
    return [((int(code) % 50, f"{day}/{month}"), amount), ((int(code) % 50, f"/{year}"), amount)]


def spread(values: Iterable[float]) -> float:
    known = list(values)
    return max(known) - min(known)


def _weather() -> Case:
    lines = _snow(0)
    inches = "30026,5/12/2003,90in"
    lines.insert(200, inches)
    partner = "30026,5/12/2003,10mm"
    lines.insert(20, partner)
    return Case(
        "weather in inches", tuple(lines), _snow, 66, snowfall, spread,
        lambda rdd: rdd.flatMap(snowfall).groupByKey(4).mapValues(spread),
        lambda out: out[1] > 6000, {(26, "/2003"): (inches,), (26, "5/12"): (inches,)}, (inches, partner),
    )


# ---- students: two independent faults -----------------------------------------------------------------------------


def _pupils(copy: int) -> list[str]:
    return [
        f"f{i} l{i} {'male' if i % 2 else 'female'} {18 + 2 * (i % 4) + (i // 4) % 2} {i % 4 - 4 * copy} CS"
        for i in range(200)
    ]


def grade_and_age(line: str) -> tuple[int, int]:
    *_, age, grade, _ = line.split(" ")
    return int(grade), int(age)


def average(values: list[Any]) -> float:
    return sum(values) / len(values)


def averages(pairs: Any) -> Any:
    """(sum, count) by key on the map side, as Spark programs write it."""
    zero = (0, 0)
    added = pairs.aggregateByKey(zero, lambda s, v: (s[0] + v, s[1] + 1), lambda s, t: (s[0] + t[0], s[1] + t[1]), 4)
    return added.mapValues(lambda s: s[0] / s[1])


def _students() -> Case:
    lines = _pupils(0)
    mia, ed = "mia wong female 18500 0 Law", "ed po male 2 21 Biology"
    lines.insert(33, mia)
    lines.insert(150, ed)
    return Case(
        "students", tuple(lines), _pupils, 99, lambda line: [grade_and_age(line)], average,
        lambda rdd: averages(rdd.map(grade_and_age)),
        lambda out: out[0] > 3 or out[1] > 25 or out[1] < 18, {0: (mia,), 21: (ed,)}, (mia, ed),
    )


# ---- commute: the drift trap --------------------------------------------------------------------------------------


def _trips(region: str) -> list[str]:
    return [
        f"{region},900{i % 90:02d},900{(i * 7) % 90:02d},{(10 + i % 46) * (1 + i % 5)},{1 + i % 5}" for i in range(400)
    ]


def by_speed(line: str) -> tuple[tuple[str, str], int]:
    """The class and speed of a trip; by region, which gives the larger data other keys."""
    region, _, _, distance, time = line.split(",")
    speed = int(distance) // int(time)
    return (region, "car" if speed > 40 else "public" if speed > 15 else "onfoot"), speed


def _commute() -> Case:
    lines = _trips("sr")
    first, second = "sr,90007,90042,3240,5", "sr,90033,90012,1960,3"
    lines.insert(44, first)
    lines.insert(57, second)
    return Case(
        "commute drift", tuple(lines), lambda copy: _trips(f"s{copy}"), 49, lambda line: [by_speed(line)], average,
        lambda rdd: rdd.map(by_speed)
        .combineByKey(lambda v: [v], lambda vs, v: [*vs, v], add, 4)
        .mapValues(average),
        lambda out: out[0][1] == "car" and out[1] > 50, {("sr", "car"): (first, second)}, (first, second),
    )


# ---- word length --------------------------------------------------------------------------------------------------


def _words(mark: str) -> list[str]:
    lines = ("# A Note About Hadoop Versions", "V" + 108 * "f", "spark is fast", "[Specifying the Hadoop V" + 100 * "x")
    return [" ".join(mark + word for word in line.split(" ")) for line in lines]


def lengths(line: str) -> list[tuple[str, int]]:
    return [(word[0], len(word)) for word in line.split(" ")]


def mean(values: Iterable[int]) -> int:
    known = list(values)
    return sum(known) // len(known)


def _word_length() -> Case:
    lines = _words("")
    return Case(
        "word length", tuple(lines), lambda copy: _words(chr(0x4E00 + copy)), 5000, lengths, mean,
        lambda rdd: rdd.flatMap(str.split).map(lambda word: (word[0], len(word))).groupByKey(4).mapValues(mean),
        lambda out: out[1] > 70, {"V": (lines[1], lines[3])}, (lines[1], lines[3]),
    )


# ---- store average of day sums ------------------------------------------------------------------------------------


def sales(first: bool | None = None) -> list[tuple[int, int, int]]:
    """Stores, days and amounts; the four corrupt rows, of store 99 on day 3, where they are, or first, or last."""
    rows = [
        (s, d, (d + k) % 9 + 1 if s == 99 and d != 3 else -1000 if s == 99 else (s * 31 + d * 7 + k) % 9 + 1)
        for s in (*range(5), 99) for d in range(6) for k in range(4)
    ]
    return rows if first is None else sorted(rows, key=lambda row: (row[2] == -1000) is not first)


# ---- crashes ------------------------------------------------------------------------------------------------------


def trips_that_crash() -> tuple[list[str], list[str]]:
    """The lines of four crashes of three kinds, and those that crash."""
    lines = [f"sr,900{i:02d},900{i + 1:02d},{30 * (1 + i % 4)},{1 + i % 4}" for i in range(60)]
    crashing = {5: "sr,90011,90012,50,0", 25: "sr,90013,90014,,3", 40: "sr,90015,90016,70", 59: ""}
    for at, line in crashing.items():
        lines.insert(at, line)
    return lines, list(crashing.values())


def incomes() -> tuple[list[str], list[str]]:
    """The lines of a crash from a code fault, and those that crash."""
    lines = [f"${50 + i}" if i % 17 == 0 else f"{50 + 3 * i}" for i in range(100)]
    return lines, [line for line in lines if line.startswith("$")]


def speed(line: str) -> tuple[str, int]:
    columns = line.split(",")
    return columns[1], int(columns[3]) // int(columns[4])


def income(line: str) -> int:
    return int(line[:2] if line.startswith("$") else line)  # the fault: the wrong side of the $


CASES = (_airport(), _weather(), _students(), _commute(), _word_length())


# ---- the corrupt lines elsewhere ------------------------------------------------------------------------------------


def placements(case: Case) -> Iterator[list[str]]:
    """The lines of a case with each corrupt one at every place, the others where they are."""
    for line in case.inserted:
        others = [each for each in case.lines if each != line]
        for place in range(len(case.lines)):
            yield [*others[:place], line, *others[place:]]


def cut(lines: Sequence[str], partitions: int) -> tuple[tuple[str, ...], ...]:
    """Lines in partitions, as ``parallelize`` cuts them."""
    return tuple(tuple(lines[part * len(lines) // partitions: (part + 1) * len(lines) // partitions]) for part in range(partitions))

