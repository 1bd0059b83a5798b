"""Bars in a notebook: there while they count, and gone from the cell's output, the saved notebook's too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from IPython.display import display


def bars_of(shell: Any) -> Callable[[str], AbstractContextManager[Any]] | None:
    """What shows bars in ``shell``; None in a terminal, where tqdm's own are all right."""
    return _bar if getattr(shell, "kernel", None) is not None else None


@contextmanager
def _bar(what: str) -> Iterator[Any]:
    """tqdm closes the widget and leaves its output in the cell, so the output is ours: it can be emptied."""
    from tqdm.notebook import tqdm_notebook

    with tqdm_notebook(desc=what, unit=" tasks", leave=False, display=False) as bar:
        handle: Any = display(bar.container, display_id=True)
        try:
            yield bar
        finally:
            handle.update({"text/plain": ""}, raw=True)
