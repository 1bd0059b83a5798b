"""Searches in a notebook: a localization that takes long is shown in its cell's output while it runs, and can be stopped there."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from IPython.display import display

from bigdebug.localize.search import Search, Shows
from bigdebug.spark import jobs
from bigdebug.views.bundle import missing
from bigdebug.views.diagnosisview import DiagnosisView


def searches_of(shell: Any) -> Shows | None:
    """What shows searches in ``shell``; None in a terminal, where a bar tells of them."""
    return _show if getattr(shell, "kernel", None) is not None else None


def _show(search: Search) -> bool:
    """Show a search if it takes longer than a bar would wait. Not where widgets have not been built: then it has its bar."""
    if missing() is not None:
        return False
    # Within the cell's context, so that it is this cell's output; and not in the cell's thread: a comm on which that has sent is not heard while the cell runs.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(_live, search), name="bigdebug search", daemon=True).start()
    return True


def _live(search: Search) -> None:
    if search.wait(jobs.PATIENCE):
        return
    view = DiagnosisView(search)
    handle: Any = display(view._repr_mimebundle_(), raw=True, display_id=True)
    search.wait()
    # The widget has been told; a notebook that is saved and an export have the table, which is now that of the diagnosis.
    handle.update(view._repr_mimebundle_(), raw=True)
