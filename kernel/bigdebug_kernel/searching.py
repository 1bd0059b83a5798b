"""Searches in a notebook: a localization that takes long is shown in its cell's output while it runs, and can be stopped there."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from IPython.display import display

from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.search import Search, show_searches_with
from bigdebug.spark import bars
from bigdebug.views.aside import aside
from bigdebug.views.bundle import missing
from bigdebug.views.diagnosisview import DiagnosisView


class SearchDisplay:
    """Shows searches in ``shell`` as they run; in a terminal a bar tells of them. What a search found is not said twice in one cell: where the widget of
    a diagnosis stands, its styles hide the table of the same one right behind it.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._seen: WeakSet[Search] = WeakSet()

    def load(self) -> None:
        if self._kernel is not None:
            show_searches_with(self._show)
            self._formatter.for_type(Diagnosis, self._found)

    def unload(self) -> None:
        show_searches_with(None)
        if self._kernel is not None:
            self._formatter.pop(Diagnosis, None)

    @property
    def _kernel(self) -> Any:
        return getattr(self._shell, "kernel", None)

    @property
    def _formatter(self) -> Any:
        return self._shell.display_formatter.mimebundle_formatter

    def _found(self, diagnosis: Diagnosis) -> dict[str, Any]:
        bundle = diagnosis.table()._repr_mimebundle_()
        if any(search.diagnosis is diagnosis for search in self._seen):
            return {**bundle, "text/html": f'<div class="bd-found">{bundle["text/html"]}</div>'}
        return bundle

    def _show(self, search: Search) -> bool:
        """Show a search if it takes longer than a bar would wait. Not where widgets have not been built: then it has its bar."""
        if missing() is not None:
            return False
        aside(self._live, search, name="bigdebug search")  # within the context of the cell: it is this one's output
        return True

    def _live(self, search: Search) -> None:
        if search.wait(bars.PATIENCE):
            return
        self._seen.add(search)
        if (parent := getattr(self._kernel, "_shell_parent", None)) is not None:
            # ipykernel 7.4 hears a comm where that was opened for: one of a cell, when the cell has ended. This one is for nobody, in this context alone.
            parent.set({})
        view = DiagnosisView(search)
        handle: Any = display(view._repr_mimebundle_(), raw=True, display_id=True)
        search.wait()
        # The widget has been told; a notebook that is saved and an export have the table, which is now that of the diagnosis.
        handle.update(view._repr_mimebundle_(), raw=True)
