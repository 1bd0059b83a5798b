"""Files of a trace's records: whole or refused, with every text as it is for programs, and with no formula in them for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import OrderedDict
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ViewError
from bigdebug.shown import mask
from bigdebug.trace.page import Page
from bigdebug.views.exporting import CHARACTERS, DEEPEST, RECORDS, export, unformulated
from tests.unit.test_payload import HOSTILE
from tests.unit.test_trace_view import Point, held


class Noted(NamedTuple):
    id: int
    note: Any


def document(records: list[Any]) -> Any:
    return json.loads(export(held(records), "json", "found")["text"])


def lines(records: list[Any]) -> list[list[str]]:
    """What a spreadsheet reads."""
    text = export(held(records), "csv", "found")["text"]
    assert text.startswith("\ufeff")
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


# ---- whole, or refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [0, 1, 49, 50, 51, 549, 550, 551, RECORDS])
def test_all_records_are_there_in_their_order_however_many_pages_they_take(known: int) -> None:
    found = document([(n, str(n)) for n in range(known)])
    assert found["number"] == [*range(known)]
    assert found["data"] == [[n, str(n)] for n in range(known)]
    assert found["rid"] == [str(n) for n in range(known)]


def test_more_records_than_a_browser_is_given_are_refused_and_none_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = held([1] * (RECORDS + 1))
    monkeypatch.setattr(type(trace), "page", None)
    with pytest.raises(ViewError, match=r"10,000 records at most, and these are 10,001 records.*view\.frame\(\)"):
        export(trace, "csv", "found")


def test_records_that_take_too_much_are_refused_before_all_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, read = held(["x" * 100_000] * 5_000), []

    def page(start: int, num: int) -> Page:
        read.append(num)
        return type(trace).page(trace, start, num)

    monkeypatch.setattr(trace, "page", page, raising=False)
    with pytest.raises(ViewError, match="20,000,000 characters at most"):
        export(trace, "json", "found")
    assert sum(read) <= CHARACTERS // 100_000 + 1
    with pytest.raises(ViewError, match="characters at most"):
        export(held([{"nested": [("x" * 10_000_000,)] * 3}]), "csv", "found")


class Wordy:
    """Something that is written longer than one would think."""

    made = 0

    def __repr__(self) -> str:
        Wordy.made += 1
        return "y" * 2_000


def test_a_file_is_written_no_further_than_it_may_be_long() -> None:
    for form in ("csv", "json"):
        for records in ([(Wordy(), Wordy())] * RECORDS, [[Wordy()] * 100_000]):
            Wordy.made = 0
            with pytest.raises(ViewError, match="20,000,000 characters at most"):
                export(held(records), form, "found")
            assert Wordy.made <= CHARACTERS // 2_000 + 1


def test_what_holds_itself_or_much_or_lies_deep_ends_and_is_an_error_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    deep: list[Any] = []
    for _ in range(2_000):
        deep = [deep]
    for value in (ring, deep, {"a": ring}):
        [[found]] = document([value])["data"]
        for _ in range(DEEPEST):
            found = found[-1] if isinstance(found, list) else found["a"]
        assert isinstance(found, str)
        assert "..." in found
        assert lines([value])[1][2]
    monkeypatch.setattr("bigdebug.views.exporting.CHARACTERS", 200_000)
    most: list[Any] = []
    for _ in range(90):
        most = [most, most]
    for form in ("csv", "json"):
        with pytest.raises(ViewError, match="200,000 characters at most"):
            export(held([most]), form, "found")


@pytest.mark.parametrize("digits", [600, 4_000, 4_300, 4_301, 5_000, 30_000])
def test_integers_are_whole_however_long(digits: int) -> None:
    for value in (10**digits - 1, 1 - 10**digits):
        [[found]] = document([value])["data"]
        told = lines([value])[1][2].removeprefix("'")
        if digits <= 4_300:
            assert (found, int(told)) == (value, value)
        else:  # longer than Python writes
            assert int(found, 16) == int(told, 16) == value


def test_records_of_several_shapes_are_whole_records_in_one_column() -> None:
    found = document([*[("a", n) for n in range(60)], "alone"])
    assert found["columns"] == ["record"]
    assert found["data"][59:] == [[["a", 59]], ["alone"]]
    found = document([*[Point(n, n) for n in range(60)], Noted(1, None)])
    assert (found["columns"], found["data"][-1]) == (["_1", "_2"], [1, None])


# ---- for programs ------------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
def test_what_json_has_comes_back_as_it_was(records: list[Any]) -> None:
    assert document(records)["data"] == [list(record) for record in records]


def test_what_json_has_not_is_text_and_nothing_is_lost() -> None:
    values = [
        float("nan"), float("-inf"), Decimal("1.10"), date(2013, 2, 12), b"\x00\xff", np.int64(7), np.float64("nan"), Noted(1, None), {1: "a", "1": "b"}, {3}, OrderedDict(a=1), "\ud800",
    ]
    assert document([tuple(values)])["data"] == [
        ["nan", "-inf", "1.10", "2013-02-12", r"b'\x00\xff'", 7, "nan", {"id": 1, "note": None}, [[1, "a"], ["1", "b"]], [3], {"a": 1}, "\ud800"],
    ]


def test_columns_of_one_name_are_all_there() -> None:
    row = type("Row", (tuple,), {"__fields__": ["id", "id"]})
    found = document([(1, row((2, 3)))])
    assert found["data"] == [[1, [["id", 2], ["id", 3]]]]
    assert document([row((2, 3))])["columns"] == ["id", "id"]


# ---- for spreadsheets --------------------------------------------------------------------------------------------

FORMULA = st.from_regex(r"\A\s*[=+\-@\t\r\uff1d]", fullmatch=False)


@given(st.text() | FORMULA)
def test_a_text_is_not_computed_and_is_what_it_was(text: str) -> None:
    [_, [_, _, found]] = lines([text])
    told = text.encode("utf-8", "backslashreplace").decode()
    assert found in (told, f"'{told}")
    assert not re.match(r"\s*[=+\-@]", found) or re.fullmatch(r"[+-][\d.,]+(e[+-]?\d+)?", found, re.IGNORECASE)


@pytest.mark.parametrize("text", ["-5", "+1.5", "-1e-3", "1,000", "a=b", "'=1", "", HOSTILE])
def test_numbers_and_what_is_no_formula_stay(text: str) -> None:
    assert unformulated(text) == text


def test_nothing_and_the_empty_text_are_told_apart_and_headings_are_no_formulas_either() -> None:
    row = type("Row", (tuple,), {"__fields__": ["=HYPERLINK(1)", "b"]})
    text = export(held([row((None, "")), row((1.5, 'say "x"'))]), "csv", "found")["text"]
    assert text == '\ufeff"number","rid","\'=HYPERLINK(1)","b"\r\n0,"0",,""\r\n1,"1",1.5,"say ""x"""\r\n'


# ---- the file ----------------------------------------------------------------------------------------------------


def test_secrets_are_not_in_a_file() -> None:
    mask("sk-[a-z]+")
    try:
        for form in ("csv", "json"):
            said = export(held([("sk-abc", {"sk-key": ["sk-def"]}, b"sk-ghi")]), form, "run sk-abc")
            assert "sk-" not in json.dumps(said)
    finally:
        mask(None)


@pytest.mark.parametrize(("name", "file"), [("words map", "words-map.csv"), ("../../etc/passwd", "etc-passwd.csv"), ("\u202e <b>", "b.csv"), ("", "records.csv"), ("x" * 300, "x" * 80 + ".csv")])
def test_a_file_has_a_name_that_is_one(name: str, file: str) -> None:
    assert export(held([1]), "csv", name)["name"] == file
