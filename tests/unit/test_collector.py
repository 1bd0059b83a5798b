"""The garbage collector waits for blocks, in whichever threads they are, and goes on as before."""

from __future__ import annotations

import gc
from contextlib import ExitStack
from threading import Thread

import pytest

from bigdebug.spark.collector import waiting


def test_it_waits_for_all_blocks() -> None:
    assert gc.isenabled()
    first, second = ExitStack(), ExitStack()
    first.enter_context(waiting())
    second.enter_context(waiting())
    first.close()
    assert not gc.isenabled()
    thread = Thread(target=second.close)
    thread.start()
    thread.join()
    assert gc.isenabled()


def test_an_error_ends_the_wait() -> None:
    with pytest.raises(ZeroDivisionError), waiting():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_it_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        with waiting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
