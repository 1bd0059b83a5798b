"""Values of the user as text: as Python shows them, and never long."""

from __future__ import annotations

import array
import types
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.localize.comparison import Change
from bigdebug.localize.diagnosis import FaultSet
from bigdebug.mining.multiplicity import Suspect
from bigdebug.model import Origin, SourceRecord
from bigdebug.shown import LONGEST, mask, masking, plain, shown
from bigdebug.trace.page import Page

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text(max_size=8)
    | st.binary(max_size=8) | st.dates() | st.decimals()
)
keys = st.integers() | st.text(max_size=4) | st.none() | st.tuples(st.integers(), st.text(max_size=2))
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.dictionaries(keys, inner, max_size=3)
        | st.lists(inner, max_size=3).map(deque)
    ),
    max_leaves=8,
)


def depth(value: Any) -> int:
    inside = [*value, *value.values()] if isinstance(value, dict) else value
    container = isinstance(value, (list, tuple, dict, deque))
    return 1 + max(map(depth, inside), default=0) if container else 0


@given(values.filter(lambda value: depth(value) <= 8))
@example([({0: [({0: [(1,)]},)]},)])
@example(dict.fromkeys(range(100)))
@example([list(range(100)), tuple(range(100)), deque(range(100)), set(range(100))])
def test_a_short_value_is_shown_as_python_shows_it(value: Any) -> None:
    if len(repr(value)) <= LONGEST:
        assert shown(value) == repr(value)


def test_sets_and_arrays_are_shown_by_value() -> None:
    assert shown({3, 1, 2}) == "{1, 2, 3}"
    letters = frozenset("ba")
    assert shown(letters) == repr(letters)  # in the order of this process's hashes
    assert (shown(set()), shown(frozenset()), shown(())) == ("set()", "frozenset()", "()")
    assert shown(array.array("i", [2, 1])) == "array('i', [2, 1])"
    assert shown(bytearray(b"ab")) == "bytearray(b'ab')"


def test_a_dict_keeps_its_order() -> None:
    assert shown({"b": 1, "a": 2}) == "{'b': 1, 'a': 2}"


LARGE = {
    "str": "x" * 10**6,
    "bytes": b"x" * 10**6,
    "bytearray": bytearray(10**6),
    "list": [1] * 10**6,
    "tuple": (1,) * 10**6,
    "dict": dict.fromkeys(range(10**6)),
    "set": set(range(10**6)),
    "frozenset": frozenset(range(10**6)),
    "deque": deque(range(10**6)),
    "array": array.array("b", bytes(10**6)),
    "int": 10**4000,
    "defaultdict": defaultdict(int, dict.fromkeys(range(10**4), 0)),
    "Counter": Counter(range(10**4)),
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_a_large_value_is_cut_and_says_so(value: Any) -> None:
    for held in (value, [value], {"key": value}, (value, value)):
        assert len(shown(held)) <= LONGEST
        assert "..." in shown(held)


@given(st.recursive(st.just("x" * 90), lambda inner: st.lists(inner, min_size=5, max_size=8), max_leaves=100))
def test_whatever_is_nested_is_short(value: Any) -> None:
    text = shown(value)
    assert len(text) <= LONGEST
    if len(repr(value)) > LONGEST:
        assert text.endswith("...")


def test_containers_that_hold_themselves_end() -> None:
    listed: list[Any] = []
    listed.append(listed)
    mapped: dict[str, Any] = {}
    mapped["self"] = mapped
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    for value in (listed, mapped, deep, [mapped, listed]):
        assert "..." in shown(value)
        assert "raised" not in shown(value)
    assert shown(listed) == "[" * 8 + "[...]" + "]" * 8
    assert shown(mapped) == "{'self': " * 8 + "{...}" + "}" * 8


class Asked:
    """Counts how often it is asked anything."""

    times = 0

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def __repr__(self) -> str:
        Asked.times += 1
        return "x"

    def __lt__(self, other: Asked) -> bool:
        Asked.times += 1
        return self.number < other.number


class Listed(list[Any]):
    """A subclass of a container, as pyspark's Row is of tuple."""


class Named(NamedTuple):
    items: list[Asked]


MANY = [Asked(i) for i in range(5_000)]
ASKING = {
    "list": MANY,
    "tuple": tuple(MANY),
    "dict": dict.fromkeys(MANY),
    "values of a dict": dict(enumerate(MANY)),
    "deque": deque(MANY),
    "list in a tuple": (MANY, 1),
    "dict in a list": [dict(enumerate(MANY))],
    "list of lists": [MANY[:100]] * 100,
    "list within itself": "loop",
    "set": set(MANY),
    "subclass of list": Listed(MANY),
}
"""Not here: classes with a repr of their own, such as defaultdict, Row and named tuples, are asked for all of it."""


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in ASKING.items()])
def test_no_more_of_a_value_is_asked_than_can_be_shown(value: Any) -> None:
    if value == "loop":
        value = [Asked()]
        value.extend([value] * 4)
    Asked.times = 0
    assert "x" in shown(value)
    assert 0 < Asked.times <= LONGEST


@pytest.fixture
def _secret() -> Iterator[None]:
    mask(r"sk-\d+|'password': '[^']*'")
    yield
    mask(None)


@pytest.mark.usefixtures("_secret")
@pytest.mark.parametrize("before", [0, 990, 1_000, 1_985, 1_990, 1_995, 1_999, 3_000, 10_000])
@pytest.mark.parametrize("hold", [lambda text: text, lambda text: [text], lambda text: {text: text}, str.encode, lambda text: types.SimpleNamespace(a=text)])
def test_a_secret_is_not_shown_in_part(before: int, hold: Any) -> None:
    text = shown(hold("x" * before + "sk-" + "7" * 30 + " " * before))
    assert "sk-" not in text
    assert "7" not in text
    assert len(text) <= LONGEST


@pytest.mark.usefixtures("_secret")
def test_what_is_secret_by_its_name() -> None:
    assert shown({"password": "swordfish", "user": "me"}) == "{***, 'user': 'me'}"
    assert plain("sk-1\x1b") == "***\\x1b"
    assert repr(SourceRecord("sk-12", 3, Origin("d"))).startswith("SourceRecord(record='***', rid=3, origin=Origin(dataset='d'")
    assert masking() is not None


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no")


HOLDING = {
    "fault set": lambda value: FaultSet((SourceRecord(value, 3, Origin("d")),), (value,)),
    "change": lambda value: Change((value,), (value,)),
    "suspect": lambda value: Suspect(1, 0, 0, 2.0, 1.5, "It has 2 outputs.", records=(value,)),
    "page": lambda value: Page(("record",), (0,), None, ((value,),), False),
}
"""What people hold that holds values of theirs."""


@pytest.mark.usefixtures("_secret")
@pytest.mark.parametrize("hold", HOLDING.values(), ids=HOLDING)
def test_what_holds_values_shows_them_as_they_are_shown_alone(hold: Any) -> None:
    text = repr(hold(("sk-12", 1)))
    assert "sk-" not in text
    assert "('***', 1)" in text
    assert "Odd whose repr raised RuntimeError" in repr(hold(Odd()))
    assert len(repr(hold("x" * 10**7))) < 5 * LONGEST
    assert repr(hold(("a", 1))).startswith(f"{type(hold(0)).__name__}(")


@pytest.mark.usefixtures("_secret")
def test_what_an_actor_failed_of_is_kept_without_what_is_secret(tmp_path: Path) -> None:
    actor = actors.register("step", home=tmp_path)
    actor.add_input("sk-12")
    actor.fail("sk-12", error=ValueError("no sk-12"))
    actor.abandon(ValueError("sk-12"))
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"***" in each for each in kept)
    assert not [each for each in kept if b"sk-" in each]


def test_nothing_is_secret_unless_somebody_says_so() -> None:
    assert shown("sk-12") == "'sk-12'"
    assert masking() is None
    assert repr(SourceRecord("a", 3, Origin("d", line=4))) == (
        "SourceRecord(record='a', rid=3, origin=Origin(dataset='d', path=None, line=4, row=None, index=None))"
    )
