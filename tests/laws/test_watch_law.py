"""Watches over random programs: results are what they were, and what is told of a record is true (laws 1 and 5)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.laws.programs import OPS, POSITIONAL, Program, build, programs
from tests.laws.test_laws import _rids_by_source, multiset

FEW = settings(max_examples=int(os.environ.get("LAW_EXAMPLES", "30")) // 2, deadline=None)


@FEW
@given(programs(ops=(*OPS, *POSITIONAL)), st.sampled_from([None, "inject", "lazy"]), st.randoms(use_true_random=False))
def test_a_watched_program_is_the_program(dbg: Any, spark: Any, program: Program, strategy: str | None, random: Any) -> None:
    expected = multiset(build(program, spark.sparkContext)[0].collect())
    result, made, sources = build(program, dbg.context)
    with ExitStack() as watching:
        watches = [watching.enter_context(dbg.watch(rdd, lambda record: True, most=100_000, rate=100_000)) for rdd in (*sources, *made)]
        calls = watching.enter_context(dbg.watch(timeout=60, slow=3.0))
        if strategy is not None:
            watching.enter_context(dbg.capture("law", strategy=strategy))
        assert multiset(result.collect()) == expected
    assert calls.hangs == []
    for watch in watches:
        assert (watch.errors, watch.unreached, watch.left_out) == ([], [], 0)
    told = [watch for watch in watches if watch.records]
    assert not expected or watches[-1].records or watches[-1].unseen
    for watch in random.sample(told, min(2, len(told))):
        note(str(watch.operator))
        records = {(seen.partition, seen.at): repr(seen.record) for seen in watch.records}
        # What several read is computed for each of them.
        assert all(records[seen.partition, seen.at] == repr(seen.record) for seen in watch.records)
        assert multiset(watch.lineage().collect()) == multiset(seen.record for seen in {(s.partition, s.at): s for s in watch.records}.values())
        assert _rids_by_source(watch.goBackAll()) == _rids_by_source(watch.lineage().goBackAll())
