"""Searches in a notebook: a localization that takes long is shown in its cell's output while it runs, and can be stopped there."""

from __future__ import annotations

import contextvars
import threading
from functools import partial
from typing import Any

from IPython.display import display

from bigdebug.localize.search import Search, Shows
from bigdebug.spark import jobs
from bigdebug.views.bundle import missing
from bigdebug.views.diagnosisview import DiagnosisView


def searches_of(shell: Any) -> Shows | None:
    """What shows searches in ``shell``; None in a terminal, where a bar tells of them."""
    kernel = getattr(shell, "kernel", None)
    return None if kernel is None else partial(_show, kernel)


def _show(kernel: Any, search: Search) -> bool:
    """Show a search if it takes longer than a bar would wait. Not where widgets have not been built: then it has its bar."""
    if missing() is not None:
        return False
    context = contextvars.copy_context()  # of the cell: it is this one's output
    threading.Thread(target=context.run, args=(_live, kernel, search), name="bigdebug search", daemon=True).start()
    return True


def _live(kernel: Any, search: Search) -> None:
    if search.wait(jobs.PATIENCE):
        return
    if (parent := getattr(kernel, "_shell_parent", None)) is not None:
        # ipykernel 7.4 hears a comm where that was opened for: one of a cell, when the cell has ended. This one is for nobody, in this context alone.
        parent.set({})
    view = DiagnosisView(search)
    handle: Any = display(view._repr_mimebundle_(), raw=True, display_id=True)
    search.wait()
    # The widget has been told; a notebook that is saved and an export have the table, which is now that of the diagnosis.
    handle.update(view._repr_mimebundle_(), raw=True)
