"""Random programs in which a task fails, its worker exits or its executor is killed: result, ids and lineage are those of the undisturbed run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from bigdebug.errors import BigdebugError
from tests.cluster.faults import Fault
from tests.laws.programs import Program, build, interpret, programs
from tests.laws.test_laws import lineage_of, multiset

MANY = max(2, int(os.environ.get("LAW_EXAMPLES", "30")) // 3)


@pytest.mark.parametrize(("what", "examples"), [("failed", MANY), ("exited", MANY), ("killed", max(1, MANY // 5))])
def test_a_program_that_is_disturbed_gives_what_it_gives_and_has_the_same_lineage(dbg: Any, tmp_path: Path, what: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(most=3))
    def law(program: Program) -> None:
        read = [number for records, _ in program.sources for number in records]
        assume(read)
        fault = Fault(what, tmp_path, str(read[len(read) // 2]))

        def run_of(armed: bool) -> tuple[Any, Any, list[Any]]:
            result, _, sources = build(program, dbg.context, entering=lambda source: source.map(fault.pass_on))
            if armed:
                fault.arm()
            with dbg.capture("law") as run:
                records = result.collect()
            assert run.status == "succeeded"
            return records, result, sources

        undisturbed, first, _ = run_of(armed=False)
        records, second, sources = run_of(armed=True)
        assert multiset(records) == multiset(undisturbed) == multiset(record for record, _ in interpret(program))
        rids = second.getLineage().rids().tolist()
        assert rids == first.getLineage().rids().tolist()
        wanted = {}
        for record, lineage in interpret(program):
            wanted.setdefault(repr(record), []).append(lineage)
        for rid, record in list(zip(rids, records))[:4]:
            try:
                found = lineage_of(dbg, second, sources, rid)
            except BigdebugError:
                assert second.getLineage().run.incomplete
                continue
            if not program.opaque:
                assert found in wanted[repr(record)]
        for run in (first.getLineage().run, second.getLineage().run):
            dbg.forget(run)

    law()
