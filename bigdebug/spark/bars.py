"""Bars that tell how far our own jobs and long questions are, from the first second on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.jobs import tagged, tasks_of, watched
from bigdebug.spark.process import own_python

if TYPE_CHECKING:
    from pyspark import SparkContext

PATIENCE = 1.0
"""Seconds until there is a bar."""

_EVERY = 0.2
"""Seconds between two looks at how far it is."""

Bars = Callable[[str], AbstractContextManager[Any]]
"""Shows a bar of tqdm's with a title, for as long as it is entered."""


@contextmanager
def progress(sc: SparkContext, what: str, shown: bool = True) -> Iterator[None]:
    """Within: jobs of this thread are ours, with our Python, and have a bar if they take longer than a second."""
    with own_python(sc), counted(sc, what, shown):
        yield


def counted(sc: SparkContext, what: str, shown: bool = True) -> AbstractContextManager[object]:
    """Within: this thread's jobs are ours, and a bar counts their finished tasks if they take longer than a second.

    Costs two calls of the JVM for the tag that tells these jobs from others.
    """
    return watched(sc, "bigdebug progress", partial(_watch, sc, what)) if shown and shows_bars() else tagged(sc)


@contextmanager
def telling(what: str, unit: str, tell: Callable[[], tuple[int, str]], shown: bool = True) -> Iterator[None]:
    """Within: a bar tells how many of a ``unit`` were done, and something beside it, if this takes longer than a second. ``tell`` is called in a thread of ours."""
    if not (shown and shows_bars()):
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, unit, tell, over), name="bigdebug progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        with undisturbed():
            over.set()
            teller.join()


def _tell(what: str, unit: str, tell: Callable[[], tuple[int, str]], over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    with _bars(f"bigdebug: {what}") as bar:
        bar.unit = f" {unit}"
        while not over.wait(_EVERY):
            done, beside = tell()
            bar.set_postfix_str(beside, refresh=False)
            bar.update(done - bar.n)


def _watch(sc: SparkContext, what: str, tag: str, over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    with _bars(f"bigdebug: {what}") as bar:
        while not over.wait(_EVERY):
            done, bar.total = tasks_of(sc, tag)
            bar.update(done - bar.n)


@contextmanager
def _terminal_bar(what: str) -> Iterator[Any]:
    with tqdm(desc=what, unit=" tasks", leave=False) as bar:
        yield bar


_bars: Bars = _terminal_bar


def show_bars_with(bars: Bars | None) -> None:
    """Show bars with ``bars``; in the terminal, if None. A notebook knows how to take away what it showed."""
    global _bars  # noqa: PLW0603 (what shows output is one thing for a process, as stderr is)
    _bars = bars or _terminal_bar


def shows_bars() -> bool:
    """Whether a bar can be seen and leaves nothing behind: not in a file or a pipe."""
    return _bars is not _terminal_bar or (sys.stderr is not None and sys.stderr.isatty())
