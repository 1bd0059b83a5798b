"""A view: what somebody looks at and acts on, in a notebook or anywhere else."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from bigdebug.trace.table import Table
from bigdebug.views.bundle import bundle, missing
from bigdebug.views.payload import event
from bigdebug.views.replies import Known, replied

log = logging.getLogger("bigdebug")

Ear = Callable[[dict[str, Any]], None]
"""Hears what a view says unasked."""


class View(ABC):
    """Displays as a widget, and as a table where none is: in a terminal, in an exported notebook, after the kernel has gone.

    A browser asks by named requests and is told of events; JupyterLab's panel may show the same view that a cell does. Requests are answered in threads of
    their own, also while a cell runs. Thread-safe.
    """

    kind: ClassVar[str]
    """By which the browser knows what to draw."""

    def __init__(self) -> None:
        self._ears: list[Ear] = []
        self._listening = threading.Lock()

    @property
    @abstractmethod
    def requests(self) -> Known:
        """What answers a request, by its name."""

    @abstractmethod
    def table(self) -> Table:
        """What is shown where no widget is."""

    def answer(self, data: Any, buffers: Sequence[Any] = ()) -> dict[str, Any]:
        """The answer to a message of a browser's and its buffers: what it asks by name, or ``refused``. May have numpy arrays in it."""
        return replied(data, self.requests, buffers)

    def tell(self, name: str, content: Mapping[str, Any]) -> None:
        """Say something unasked to all that show the view."""
        said = event(name, content)
        with self._listening:
            ears = [*self._ears]
        for ear in ears:
            _tell(ear, said)

    def hear(self, ear: Ear) -> Callable[[], None]:
        """Be told of what the view says from now on, until what this gives is called."""
        with self._listening:
            self._ears.append(ear)

        def leave() -> None:
            with self._listening:
                if ear in self._ears:
                    self._ears.remove(ear)

        return leave

    @cached_property
    def widget(self) -> Any:
        """The widget, to be put beside others."""
        from bigdebug.views.widget import Widget

        widget = Widget(self.kind, self.answer, *bundle())
        self.hear(widget.say)
        return widget

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        table = self.table()
        plain = {"text/plain": table.text(), "text/html": table.html()}
        if (what := missing()) is not None:
            return {"text/plain": f"{plain['text/plain']}\n{what}", "text/html": f"{plain['text/html']}<p>{what}</p>"}
        return {**self.widget.mimebundle(), **plain}


def _tell(ear: Ear, said: dict[str, Any]) -> None:
    try:
        ear(said)
    except Exception as trouble:  # a browser that has gone keeps nobody else from hearing
        log.warning("bigdebug could not tell a view of %s: %s", said["event"], trouble, exc_info=True)
