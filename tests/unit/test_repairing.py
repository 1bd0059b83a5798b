"""Records as texts that somebody edits, and what comes of them."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from bigdebug.errors import ReplayError
from bigdebug.trace.culprit import Described
from bigdebug.views.repairing import EDITABLE, fields, repaired

Point = namedtuple("Point", "x y")  # noqa: PYI024

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8,
)


@given(plain)
def test_every_text_that_can_be_edited_says_the_value_that_it_stands_for(value: Any) -> None:
    for field in fields(value):
        if field.text is not None:
            assert repr(field.read(field.text)) == repr(field.value)
            assert type(field.read(field.text)) is type(field.value)
            field.text.encode()


@given(st.tuples(plain, plain, plain), st.integers(0, 2), st.text())
def test_what_is_not_edited_stays_the_same_object(record: tuple[Any, ...], number: int, text: str) -> None:
    try:
        made = repaired(record, {number: text})
    except ReplayError:
        return
    assert type(made) is tuple
    assert all(made[other] is record[other] for other in range(3) if other != number)


@pytest.mark.parametrize(
    ("record", "edits", "expected"),
    [
        (("a", 1), {1: "(2, ['x'])"}, ("a", (2, ["x"]))),
        (Point("NA", 2.5), {0: "17", 1: "nan"}, "Point(x='17', y=nan)"),
        (Row(id=2, dep="NA"), {1: None}, Row(id=2, dep=None)),
        (Row("NA", 1), {0: "x"}, "<Row('x', 1)>"),
        ({"a": "NA", 3: 4}, {0: "b", 1: "5"}, {"a": "b", 3: 5}),
        ("a line", {0: "another\tline"}, "another\tline"),
        (5, {0: "-6"}, -6),
        ((date(2026, 1, 2), Decimal("1.50")), {0: "2026-02-28", 1: "2.25"}, (date(2026, 2, 28), Decimal("2.25"))),
        ((datetime(2026, 1, 2, 3, tzinfo=timezone.utc),), {0: "2026-01-02T04:00:00+00:00"}, (datetime(2026, 1, 2, 4, tzinfo=timezone.utc),)),
        ((None, 1), {0: "'text'"}, ("text", 1)),
        (("a\r", 1), {0: "'b\\r'"}, ("b\r", 1)),
        (("a", 1), {1: " None "}, ("a", None)),
    ],
)
def test_a_repaired_record_is_of_the_same_type_with_the_same_names(record: Any, edits: dict[int, str | None], expected: Any) -> None:
    made = repaired(record, edits)
    assert type(made) is type(record)
    assert getattr(made, "__fields__", None) == getattr(record, "__fields__", None)
    assert repr(made) == (expected if isinstance(expected, str) and not isinstance(record, str) else repr(expected))


@pytest.mark.parametrize(
    ("record", "edits", "message"),
    [
        ((1, "a"), {0: "__import__('os').getcwd()"}, "_1 cannot be read as a Python literal"),
        ((1, "a"), {0: "(" * 300}, "cannot be read"),
        ((1, "a"), {0: "9" * 5_000}, "cannot be read"),
        ((1, "a"), {2: "x"}, "has 2 fields"),
        ((1.5,), {0: "much"}, "cannot be read as a number"),
        ((Decimal(1),), {0: "much"}, "cannot be read as a decimal number"),
        (5, {0: "'x'"}, "of type int, and this one of type str"),
        (5, {0: None}, "None is not"),
        ("text", {0: None}, "None is not"),
        (("x" * (EDITABLE + 1),), {0: "y"}, "longer than 10,000 characters"),
        ((object(),), {0: "y"}, "No text is read as this value of type object"),
        ((OrderedDict(a=1),), {0: "{}"}, "No text is read"),
        (Described("<generator>"), {0: "y"}, "could not leave the task"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_repaired_in_python(record: Any, edits: dict[int, str | None], message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        repaired(record, edits)


def test_a_record_that_contains_itself_or_is_huge_is_no_text() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for record in ((itself,), ([0] * 10_000_000,), ("x" * 10_000_000,), (10**5_000,), ({"a": ["y" * 20_000]},)):
        (field,) = fields(record)
        assert field.text is None
        assert field.why
