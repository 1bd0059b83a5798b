"""Likeness: the same bytes for the same record in any process, and others for any other record."""

from __future__ import annotations

import datetime
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.likeness import likeness
from bigdebug.errors import ReplayError

Pair = namedtuple("Pair", "left right")  # noqa: PYI024 (what PySpark users write)


@dataclass
class Point:
    x: float
    tags: set[str] = field(default_factory=set)


class Colour(Enum):
    RED = 1


class Plain:
    """No __eq__: equal by what it holds."""

    def __init__(self, held: Any) -> None:
        self.held = held


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


class Words(frozenset[str]):
    """A set of a class of its own."""


MANY: tuple[Any, ...] = (
    None, ..., True, 1, 1.0, "1", b"1", 1j, (1,), [1], {1}, frozenset([1]), {1: 1}, {"a": None}, (), [], set(), {},
    frozenset(), "", b"", 0, False, 0.0, float("nan"), float("inf"), 1 << 70, ((1, 2), 3), (1, (2, 3)), (1, 2, 3),
    ("a", "b"), ("ab",), {(1, 2)}, {1, 2}, {"a": {"b"}}, {"a": ("b",)}, "\ud800", Pair(1, 2), (1, 2), Point(1.0),
    Point(1.0, {"a", "b"}), Colour.RED, Plain(1), Plain("1"), Slotted(1), Words("ab"), frozenset("ab"), int, len, math.sin,
    Decimal(1), Decimal("1.0"), Fraction(1, 2), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), datetime.datetime(2024, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
    datetime.timedelta(1), UUID(int=1), re.compile("a"), re.compile("b"), range(3), range(4), bytearray(b"1"),
    OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), Counter("aab"), defaultdict(int, a=1),
    np.int64(1), np.int32(1), np.float64(1), np.array([1, 2]), np.array([[1, 2]]), np.array([1, 2], np.int32),
    np.array([1.0, np.nan]), np.array([None, {"a"}], object), np.array([(1, "a")], [("n", int), ("t", "U1")]),
)


def test_records_that_differ_in_type_or_value_are_apart() -> None:
    found: dict[bytes, Any] = {}
    for record in MANY:
        assert likeness(record) not in found, (record, found[likeness(record)])
        found[likeness(record)] = record


def test_a_copy_is_like_its_original() -> None:
    for record in MANY:
        assert likeness(pickle.loads(pickle.dumps(record))) == likeness(record), record


def test_another_process_finds_the_same_whatever_its_hash_seed() -> None:
    program = (
        "import sys, pickle; from bigdebug.agents.likeness import likeness\n"
        "records = [{'a', 'b', 'c', 'delta'}, frozenset('some words'), {'k': {'x', 'y', 'z'}}, (None, {('a',), ('b',)})]\n"
        "class Held:\n    def __init__(self, held): self.held = held\n"
        "records.append(Held(set('abcdefgh')))\n"
        "print([likeness(r).hex() for r in records])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(said) == 1


def test_sets_and_dicts_have_no_order_and_nan_is_nan() -> None:
    assert likeness({"a": 1, "b": 2}) == likeness({"b": 2, "a": 1})
    assert likeness(set(range(0, 64, 8))) == likeness(set(range(56, -1, -8)))
    assert likeness(Counter("ab")) == likeness(Counter("ba"))
    assert likeness([float("nan")]) == likeness([float("inf") - float("inf")])
    assert likeness(np.array([-np.nan])) == likeness(np.array([np.nan]))
    assert likeness(defaultdict(int, a=1)) == likeness(defaultdict(list, a=1))
    assert likeness(-0.0) == likeness(0.0)
    assert likeness(np.arange(4)[::2]) == likeness(np.array([0, 2]))


def test_shared_parts_count_by_value_and_a_record_may_contain_itself() -> None:
    part = ["x" * 100]
    assert likeness([part, part]) == likeness([["x" * 100], ["x" * 100]])
    one: list[Any] = [1]
    one.append(one)
    two: list[Any] = [1]
    two.append(two)
    assert likeness(one) == likeness(two) != likeness([1, [1]])


@pytest.mark.parametrize("record", [
    (n for n in ()), (1, {"a": (n for n in ())}), threading.Lock(), lambda: 1, Plain(threading.Lock()),
])
def test_what_has_no_value_is_refused_by_name(record: Any) -> None:
    with pytest.raises(ReplayError, match=r"generator|lock|function"):
        likeness(record)


def test_a_record_nested_too_deep_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ReplayError, match="too deep"):
        likeness(deep)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(width=16) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner)
    | st.frozensets(st.integers(0, 3) | st.text(max_size=1), max_size=3)
    | st.dictionaries(st.integers(0, 2) | st.text(max_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_like_records_are_equal_and_equal_records_of_equal_types_are_alike(one: Any, two: Any) -> None:
    def typed(value: Any) -> Any:
        """Plain Python whose own equality is what is wanted."""
        if isinstance(value, (list, tuple)):
            return type(value).__name__, tuple(map(typed, value))
        if isinstance(value, frozenset):
            return "set", frozenset(map(typed, value))
        if isinstance(value, dict):
            return "dict", frozenset((typed(k), typed(v)) for k, v in value.items())
        return type(value).__name__, "nan" if value != value else value

    assert (likeness(one) == likeness(two)) == (typed(one) == typed(two))
