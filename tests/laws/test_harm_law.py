"""Random programs whose blocks come to harm between two questions: the lineage is what it was, or an error of ours says why there is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from bigdebug.errors import BigdebugError
from tests.laws.programs import OPS, POSITIONAL, Program, programs
from tests.laws.test_laws import captured, lineage_of

EXAMPLES = settings(max_examples=max(3, int(os.environ.get("LAW_EXAMPLES", "30")) // 2), deadline=None)

ASKED = 4
"""Records that are traced before and after."""


def altered(path: Path, place: float, others: Sequence[Path]) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 0x40
    path.write_bytes(bytes(data))


def cut(path: Path, place: float, others: Sequence[Path]) -> None:
    path.write_bytes(path.read_bytes()[: int(place * path.stat().st_size)])


def lost(path: Path, place: float, others: Sequence[Path]) -> None:
    path.unlink()


def another(path: Path, place: float, others: Sequence[Path]) -> None:
    """The block of another partition, or of another stage, in its place."""
    path.write_bytes(others[int(place * len(others))].read_bytes())


def twice(path: Path, place: float, others: Sequence[Path]) -> None:
    """A second attempt, which may be another partition's."""
    path.with_name(f"{path.name.split('.')[0]}.a99.block").write_bytes(others[int(place * len(others))].read_bytes())


HARM: tuple[Callable[[Path, float, Sequence[Path]], None], ...] = (altered, cut, lost, another, twice)
harms = st.lists(st.tuples(st.sampled_from(HARM), st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True)), min_size=1, max_size=2)


@EXAMPLES
@given(programs(ops=(*OPS, *POSITIONAL)), st.sampled_from(["inject", "lazy", "auto"]), harms)
def test_lineage_is_what_it_was_or_is_refused(dbg: Any, program: Program, strategy: str, harm: Any) -> None:
    _, result, sources, _ = captured(dbg, program, strategy=strategy)
    run = result.getLineage().run
    known = [source for source in sources if source._definition.operator.id in run.graph.upstream(run.subject)]
    rids = result.getLineage().rids().tolist()
    asked = rids[:: max(1, len(rids) // ASKED)][:ASKED]
    expected = {rid: lineage_of(dbg, result, known, rid) for rid in asked}
    blocks = sorted((run.store.root / run.id).rglob("*.block"))
    for how, which, place in harm:
        left = [path for path in blocks if path.exists()]
        if left:
            how(left[int(which * len(left))], place, left)
    run.store.forget(run.id)
    for rid in asked:
        try:
            found = lineage_of(dbg, result, known, rid)
        except BigdebugError as why:
            event(f"refused: {type(why).__name__}")
            continue
        event("the same")
        assert found == expected[rid]
    try:
        assert result.getLineage().rids().tolist() == rids
    except BigdebugError as why:
        event(f"refused: {type(why).__name__}")
    dbg.forget(run)
