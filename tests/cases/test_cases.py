"""The acceptance cases of RDD programs: faults with a known cause, found exactly, at 4 partitions and scaled up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.cases.programs import CASES, Case, average, by_speed

PARTITIONS = 4


@dataclass(frozen=True)
class Ran:
    """A case that ran under capture: its data, its result, and the trace over all of it."""

    case: Case
    lines: tuple[str, ...]
    path: Path
    source: Any
    result: Any
    records: list[Any]

    @cached_property
    def meaning(self) -> dict[Any, tuple[Any, frozenset[int]]]:
        return self.case.meaning(self.lines)

    def trace(self, key: Any) -> Any:
        """The trace at the output of this key."""
        position = [record[0] for record in self.records].index(key)
        trace = self.result.getLineage()
        return trace.at([int(trace.rids()[position])])

    def line(self, number: int) -> Any:
        """The trace at a line of the source, by its number."""
        everything = self.source.getLineage()
        numbers = [origin.line for origin in everything.origins()]
        return everything.at([int(everything.rids()[numbers.index(number)])])

    def numbers_of(self, key: Any) -> list[int]:
        """Line numbers of the culprits behind the output of this key."""
        return [self.lines.index(line) + 1 for line in self.case.culprits[key]]


@pytest.fixture(scope="module", params=["as given", "scaled"])
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name.replace(" ", "-"))
def ran(request: pytest.FixtureRequest, size: str, dbg: Any, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    case: Case = request.param
    lines = case.lines if size == "as given" else case.scaled()
    path = written(tmp_path_factory.mktemp("data") / "lines.txt", lines)
    source = dbg.context.textFile(str(path), PARTITIONS)
    assert source.getNumPartitions() == PARTITIONS
    result = case.program(source)
    with dbg.capture(case.name) as run:
        records = result.collect()
    assert (run.status, run.incomplete) == ("succeeded", ())
    return Ran(case, lines, path, source, result, records)


def written(path: Path, lines: tuple[str, ...]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def multiset(records: Any) -> Counter[str]:
    return Counter(map(repr, records))


def line_numbers(trace: Any) -> list[int]:
    return [origin.line for origin in trace.origins()]


def test_the_program_gives_what_it_means_and_is_wrong_where_the_case_says(ran: Ran) -> None:
    assert multiset(ran.records) == multiset(output for output, _ in ran.meaning.values())
    assert {record[0] for record in ran.records if ran.case.faulty(record)} == set(ran.case.culprits)
    if ran.lines != ran.case.lines:
        assert 19_000 < len(ran.lines) < 22_000


def test_a_faulty_output_goes_back_to_exactly_what_it_was_computed_from(ran: Ran) -> None:
    for key in ran.case.culprits:
        behind = ran.trace(key).goBackAll()
        _, expected = ran.meaning[key]
        assert line_numbers(behind) == sorted(expected)
        found = [(known.origin.line, known.record) for known in behind.source_records()]
        assert found == [(number, ran.lines[number - 1]) for number in sorted(expected)]
        assert set(ran.numbers_of(key)) <= expected


def test_every_output_goes_back_to_exactly_what_it_was_computed_from(ran: Ran) -> None:
    step = max(1, len(ran.records) // 100)
    for key in [record[0] for record in ran.records[::step]]:
        assert line_numbers(ran.trace(key).goBackAll()) == sorted(ran.meaning[key][1])


def test_the_culprit_goes_ahead_to_the_faulty_output_and_to_nothing_it_has_no_part_in(ran: Ran) -> None:
    for key in ran.case.culprits:
        for number in ran.numbers_of(key):
            ahead = ran.line(number).goNextAll().collect()
            assert key in {record[0] for record in ahead}
            assert multiset(ahead) == multiset(output for output, lines in ran.meaning.values() if number in lines)


def test_faulty_outputs_are_found_by_a_predicate(ran: Ran) -> None:
    wrong = ran.result.getLineage().where(ran.case.faulty)
    assert {record[0] for record in wrong.collect()} == set(ran.case.culprits)
    expected = set().union(*(ran.meaning[key][1] for key in ran.case.culprits))
    assert line_numbers(wrong.goBackAll()) == sorted(expected)


def test_results_are_equal_with_capture_on_and_off_and_without_bigdebug(ran: Ran, dbg: Any) -> None:
    expected = multiset(ran.records)
    off = ran.case.program(dbg.context.textFile(str(ran.path), PARTITIONS))
    assert multiset(off.collect()) == expected
    plain = ran.case.program(dbg.plain_context.textFile(str(ran.path), PARTITIONS))
    assert not hasattr(plain, "getLineage")
    assert multiset(plain.collect()) == expected


def test_replay_without_the_culprits_gives_what_the_program_gives_on_data_without_them(
    ran: Ran, dbg: Any, tmp_path: Path
) -> None:
    for key, culprits in ran.case.culprits.items():
        rest = tuple(line for line in ran.lines if line not in culprits)
        path = written(tmp_path / f"without-{len(list(tmp_path.iterdir()))}.txt", rest)
        expected = multiset(ran.case.program(dbg.plain_context.textFile(str(path), PARTITIONS)).collect())
        assert expected == multiset(output for output, _ in ran.case.meaning(rest).values())
        rids = [int(ran.line(number).rids()[0]) for number in ran.numbers_of(key)]
        without = ran.source.getLineage().at(rids).replay(exclude=True)
        assert multiset(without.collect()) == expected
        assert multiset(without.rdd.collect()) == expected
        assert not any(record[0] == key and ran.case.faulty(record) for record in without.collect())


def test_replay_of_a_faulty_output_gives_that_output(ran: Ran) -> None:
    for key in ran.case.culprits:
        again = ran.trace(key).replay().collect()
        assert repr(ran.meaning[key][0]) in multiset(again)


@pytest.mark.parametrize(
    ("case", "number", "text"),
    [
        (CASES[0], 118, "11/9/12,141011,23:53,1:23,MNN"),
        (CASES[1], 21, "30026,5/12/2003,10mm"),
        (CASES[1], 202, "30026,5/12/2003,90in"),
        (CASES[2], 34, "mia wong female 18500 0 Law"),
        (CASES[2], 151, "ed po male 2 21 Biology"),
        (CASES[3], 45, "sr,90007,90042,3240,5"),
        (CASES[3], 58, "sr,90033,90012,1960,3"),
    ],
)
def test_the_corrupt_rows_stand_where_the_case_inserts_them(case: Case, number: int, text: str) -> None:
    assert case.lines[number - 1] == text


def test_the_car_average_drifts_as_the_case_says() -> None:
    case = CASES[3]
    with_both, _ = case.meaning(case.lines)["sr", "car"]
    rest = [line for line in case.lines if line not in case.culprits["sr", "car"]]
    without, _ = case.meaning(rest)["sr", "car"]
    assert (round(with_both[1], 2), round(without[1], 2)) == (57.74, 47.94)
    assert average([v for key, v in map(by_speed, rest) if key == ("sr", "car")]) == without[1]


def test_the_long_words_come_from_lines_0_1_and_3() -> None:
    case = CASES[4]
    assert case.meaning(case.lines)["V"] == (("V", 72), frozenset([1, 2, 4]))
