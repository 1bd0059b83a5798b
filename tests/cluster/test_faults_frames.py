"""Faults x operations of DataFrames, on executors that are processes of their own: each gives what it gives undisturbed, and nothing is left behind.

The fault comes in a function of the query. One that fails on its own, now and then, is what a diagnosis is to find, and what a resume leaves out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.faults import Fault
from tests.left import nothing_left
from tests.operations import FRAMES, Operation

FAULTS = ("failed", "exited", "killed", "slow")
CELLS = [(operation, what) for operation in FRAMES for what in FAULTS if what in ("killed", "slow") or operation.name not in ("diagnosed", "resumed")]


@pytest.mark.parametrize(("operation", "what"), CELLS, ids=[f"{operation} {what}" for operation, what in CELLS])
def test_struck(dbg: Any, tmp_path: Path, untold: None, operation: Operation, what: str) -> None:
    with nothing_left(dbg):
        struck(dbg, tmp_path, operation, Fault(what, tmp_path))


def struck(dbg: Any, folder: Path, operation: Operation, fault: Fault) -> None:
    """What is held here, Spark lets go of with it."""
    made = operation.prepare(dbg, folder, fault.pass_on)
    fault.arm()
    assert operation.act(made) == operation.expected
    assert fault.came
