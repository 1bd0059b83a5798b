"""Resuming a run that crashed gives what a clean run of the repaired program gives, with its lineage (DESIGN 4.3, BigDebug 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.programs import OPS, Program, build, programs
from tests.laws.test_laws import MANY, lineage_of, multiset

Change = Callable[[Any], Any]

# Sorting reads its input when it is defined, before there is a run.
GOING_ON = [op for op in OPS if not op.startswith("sort")]


def crashing(bad: int) -> Change:
    """Sources are read by a function that crashes on every fourth number, and by a flatMap that crashes when it has given one."""

    def checked(x: int) -> int:
        if x % 4 == bad:
            raise ValueError(x)
        return x

    def doubled(x: int) -> Any:
        yield x
        if x % 7 == bad + 1:
            raise KeyError(x)

    return lambda source: source.map(checked).flatMap(doubled)


def without(bad: int) -> Change:
    return lambda source: source.filter(lambda x: x % 4 != bad).filter(lambda x: x % 7 != bad + 1)


def repaired(bad: int) -> Change:
    """``mended`` for each number that crashes in either."""
    return lambda source: source.map(lambda x: mended(x) if x % 4 == bad else x).map(lambda x: mended(x) if x % 7 == bad + 1 else x)


def mended(x: int) -> int:
    """84 for all: it crashes nowhere while ``bad`` is neither 0 nor 6."""
    return 84


def outcome(dbg: Any, build_: tuple[Any, list[Any], list[Any]], records: list[Any]) -> Counter[Any]:
    result, _, sources = build_
    rids = result.getLineage().rids().tolist()
    return Counter((repr(r), lineage_of(dbg, result, sources, rid)) for r, rid in zip(records, rids, strict=True))


@settings(max_examples=MANY * 2 // 3, deadline=None)
@given(programs(ops=GOING_ON), st.integers(1, 3), st.sampled_from(["skip", "repair", "repair each", "in place"]))
def test_resume_is_a_clean_run_of_the_repaired_program(dbg: Any, program: Program, bad: int, how: str) -> None:
    clean = build(program, dbg.context, entering=repaired(bad) if how.startswith("repair") else without(bad))
    with dbg.capture("clean"):
        expected = clean[0].collect()
    crashed = build(program, dbg.context, entering=crashing(bad))
    if how == "in place":
        with dbg.capture("in place", on_crash="skip"):
            records = crashed[0].collect()
    else:
        with dbg.capture("crash") as capture:
            try:
                records = crashed[0].collect()
            except Exception:
                run = capture.latest
            else:
                assert multiset(records) == multiset(expected)
                return
        if how == "skip":
            resumed = run.resume(skip=True)
        elif how == "repair":
            resumed = run.resume(repair=mended)
        else:
            resumed = run.resume(repair={culprit: mended(culprit.record) for culprit in run.culprits}, skip=True)
            if len(resumed.run.culprits.known) > len(run.culprits):
                return  # stages that had not run have culprits of their own, which nobody has repaired
        records = resumed.result
    assert multiset(records) == multiset(expected)
    assert outcome(dbg, crashed, records) == outcome(dbg, clean, expected)


def numbered(crashes: Callable[[int], bool]) -> Callable[[Any], Any]:
    """A function over an iterator that keeps how many it has seen, and gives more of what is even."""

    def numbering(numbers: Any) -> Any:
        for seen, x in enumerate(numbers):
            if crashes(x):
                raise IndexError(x)
            yield from [1_000 * seen + x] * (1 if x % 2 else 2 if seen else 0)

    return numbering


def keeping(bad: int, change: Callable[[Any, Callable[[int], bool]], Any], crashes: bool) -> Change:
    """Three operators one behind the other, a function over an iterator between the others; ``change`` goes before each of them."""

    def checked(x: int) -> int:
        if crashes and x % 4 == bad:
            raise ValueError(x)
        return x

    def late(x: int) -> int:
        if crashes and x % 11 == bad + 1:
            raise KeyError(x)
        return x

    def entering(source: Any) -> Any:
        first = change(source, lambda x: x % 4 == bad).map(checked)
        second = change(first, lambda x: x % 7 == bad + 1).mapPartitions(numbered(lambda x: crashes and x % 7 == bad + 1))
        return change(second, lambda x: x % 11 == bad + 1).map(late)

    return entering


@settings(max_examples=MANY // 3, deadline=None)
@given(programs(ops=GOING_ON), st.integers(1, 3), st.sampled_from(["skip", "repair"]))
def test_what_a_function_keeps_from_record_to_record_is_kept(dbg: Any, program: Program, bad: int, how: str) -> None:
    """Also where operators before it and behind it crash, too: what is repaired before moves what comes behind."""
    if how == "skip":
        clean = keeping(bad, lambda rdd, crashing: rdd.filter(lambda x: not crashing(x)), False)
    else:
        clean = keeping(bad, lambda rdd, crashing: rdd.map(lambda x: mended(x) if crashing(x) else x), False)
    expected = build(program, dbg.context, entering=clean)[0].collect()
    crashed = build(program, dbg.context, entering=keeping(bad, lambda rdd, crashing: rdd, True))
    with dbg.capture("crash") as capture:
        try:
            records = crashed[0].collect()
        except Exception:
            records = capture.latest.resume(**{"skip": True} if how == "skip" else {"repair": mended}).result
    assert multiset(records) == multiset(expected)
