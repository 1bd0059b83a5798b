"""Damaged blocks x operations: each gives what it gives undisturbed, by computing again what is lost, or an error that names the block and the remedy (issue 10).

Of a DataFrame's run nothing is in the store. What a diagnosis and a resume need of blocks is where culprits came from, and the lineage of what was resumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bigdebug.errors import CorruptBlockError, StoreError
from tests.left import nothing_left
from tests.operations import RDDS, SEVENS, Operation, Program, crashed, ran, traced_ahead, traced_back

AFTER = [
    Operation("diagnosed, then its sources", crashed, lambda made: [origin.sources[0].origin.line for origin in made.run.culprits], [78]),
    Operation("resumed, then traced", crashed, traced_back, SEVENS),
]


def first_half(made: Program, operation: Operation) -> None:
    """What leaves the blocks that the second half needs."""
    if operation.name.startswith("diagnosed"):
        assert len(made.run.culprits) == 1
    if operation.name.startswith("resumed"):
        made.run.resume(skip=True)


def lost(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def altered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.write_bytes(data)


def swapped(path: Path) -> None:
    """The block of another partition: whole, and in the wrong place."""
    other = next(other for other in sorted(path.parent.glob("*.block")) if other.name.split(".")[0] != path.name.split(".")[0])
    path.write_bytes(other.read_bytes())


ASKED = [operation for operation in RDDS if operation.name not in ("captured", "diagnosed", "resumed")] + AFTER
CELLS = [
    *(pytest.param(operation, lost, slice(None), id=f"{operation}-all lost") for operation in ASKED),
    *(pytest.param(operation, damage, slice(1, 2), id=f"{operation}-one {damage.__name__}", marks=pytest.mark.slow) for operation in ASKED for damage in (lost, altered)),
    *(pytest.param(RDDS[1], damage, slice(1, 2), id=f"{RDDS[1]}-one {damage.__name__}") for damage in (cut, emptied, swapped)),
]


@pytest.mark.many
@pytest.mark.parametrize(("operation", "damage", "which"), CELLS)
def test_damaged(dbg: Any, tmp_path: Path, untold: None, operation: Operation, damage: Callable[[Path], None], which: slice) -> None:
    with nothing_left(dbg):
        made = operation.prepare(dbg, tmp_path)
        first_half(made, operation)
        for path in sorted(dbg.store.rglob("*.block"))[which]:
            damage(path)
        for run in dbg.runs:
            run.store.forget(run.id)
        found = answered(operation, made)
        assert found == operation.expected or (isinstance(found, CorruptBlockError) and damage is not lost)
        if isinstance(found, CorruptBlockError):
            assert ".block" in str(found)
            assert "Run the job again" in found.remedy or "Restore" in found.remedy


def answered(operation: Operation, made: Program) -> Any:
    """What is told, or why nothing is."""
    try:
        return operation.act(made)
    except StoreError as problem:
        return problem


REGIONS = {"magic": 1, "version": 4, "checksum": 7, "length": 12, "what Arrow begins with": 20, "facts": 200, "tables": -60, "end": -2}


def test_a_bit_that_is_altered_in_any_region_is_noticed(dbg: Any, tmp_path: Path) -> None:
    made = ran("inject")(dbg, tmp_path)
    path = min(dbg.store.rglob("*.block"))
    whole = path.read_bytes()
    for at in REGIONS.values():
        for bit in range(8):
            data = bytearray(whole)
            data[at] ^= 1 << bit
            path.write_bytes(data)
            made.run.store.forget(made.run.id)
            with pytest.raises(StoreError, match=re.escape(str(path))):
                traced_back(made)
    path.write_bytes(whole)
    made.run.store.forget(made.run.id)
    assert traced_back(made) == SEVENS
    dbg.forget(dbg.runs)


@pytest.mark.parametrize("ask", [traced_back, traced_ahead])
def test_a_block_that_is_lost_between_two_questions_is_derived(dbg: Any, tmp_path: Path, ask: Callable[[Program], Any]) -> None:
    """Also where the store has listed it, and nobody has told it to look again."""
    made = ran("inject")(dbg, tmp_path)
    expected = next(operation.expected for operation in RDDS if operation.act is ask)
    for stage in {path.parent for path in dbg.store.rglob("*.block")}:
        made.run.store.partitions([made.run.id], stage.name)
    for path in [*dbg.store.rglob("*.block")]:
        path.unlink()
    assert ask(made) == expected
