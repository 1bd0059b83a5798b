"""Interrupts x operations: the notebook's stop button, in the middle of each (issue 10).

Jupyter gives its kernel a SIGINT while Python's own handler is in place, so that nothing of PySpark's cancels a job.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.left import nothing_left
from tests.operations import FRAMES, RDDS, Operation

MOMENTS = 3


@pytest.fixture(autouse=True)
def as_in_a_notebook() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(after: float) -> threading.Timer:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    return timer


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that PySpark was reading from
@pytest.mark.parametrize("operation", [*RDDS, *FRAMES], ids=[*(f"rdd {o}" for o in RDDS), *(f"frame {o}" for o in FRAMES)])
def test_interrupted(dbg: Any, tmp_path: Path, untold: None, operation: Operation) -> None:
    """Who asked gets the KeyboardInterrupt (of a localization what is known by then), and what was asked, when it is asked again; nothing runs on."""
    made = operation.prepare(dbg, tmp_path)
    began = time.monotonic()
    assert operation.act(made) == operation.expected
    lasts = time.monotonic() - began
    dice = random.Random(operation.name)
    came = 0
    with nothing_left(dbg):
        for part in range(MOMENTS):
            made = operation.prepare(dbg, tmp_path)
            timer = interrupt(lasts * (part + dice.random()) / MOMENTS)
            try:
                found = operation.act(made)
                timer.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                came += 1
            else:
                assert found in (operation.expected, operation.interrupted)
                came += found == operation.interrupted
            assert operation.act(made) == operation.expected
    assert came
