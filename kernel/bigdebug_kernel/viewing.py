"""The display of views in a notebook: the widget, and the table behind it.

A front end that finds no widget of a kernel that has gone says so in the widget's place and looks at nothing else that the same output has, and an export
without widgets' state shows nothing of it. So the table is an output of its own, and the widget's styles hide it while the widget stands before it.
"""

from __future__ import annotations

from typing import Any

from IPython.display import display

from bigdebug.shown import plain
from bigdebug.views.bundle import missing
from bigdebug.views.view import View


class ViewDisplay:
    """Displays views where there is a front end; a terminal has their text by itself."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def load(self) -> None:
        if getattr(self._shell, "kernel", None) is not None:
            self._formatter.for_type(View, show)

    def unload(self) -> None:
        if getattr(self._shell, "kernel", None) is not None:
            self._formatter.pop(View, None)

    @property
    def _formatter(self) -> Any:
        return self._shell.display_formatter.ipython_display_formatter


def show(view: View) -> None:
    """Publish a view as two outputs; as one where its widget has not been built."""
    if missing() is not None:
        display(view._repr_mimebundle_(), raw=True)
        return
    table = view.table()
    display({**view.widget.mimebundle(), "text/plain": plain(repr(view))}, raw=True)
    display({"text/plain": table.text(), "text/html": f'<div class="bd-fallback">{table.html()}</div>'}, raw=True)
