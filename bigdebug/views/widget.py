"""The widget: a browser's end of a view. It shows, asks, and knows nothing of runs."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import traitlets
from anywidget import AnyWidget

from bigdebug.views.aside import aside
from bigdebug.views.buffers import taken_out


class Widget(AnyWidget):
    """Hands each message of the browser's to ``answer``, in a thread of its own: a question takes a Spark job, and cells go on meanwhile."""

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: str, answer: Callable[..., dict[str, Any]], module: str, styles: str) -> None:
        """``kind`` says what of the module's it draws."""
        super().__init__(kind=kind, _esm=module, _css=styles)
        self._answer = answer
        self._heard: contextvars.Context | None = None
        self.on_msg(self._asked)

    def _asked(self, _: Any, data: Any, buffers: Any) -> None:
        self._heard = contextvars.copy_context()
        aside(self._reply, data, buffers or ())

    def _reply(self, data: Any, buffers: Any) -> None:
        self.say(self._answer(data, buffers))

    def say(self, message: dict[str, Any]) -> None:
        """Send a message, and the arrays in it beside; what nobody asked for, within the context of the last question.

        ipykernel hears a comm where that was last sent for: after a word within a cell's context, a question would wait for the cell.
        """
        unasked = "event" in message and self._heard is not None
        context = self._heard.copy() if unasked and self._heard is not None else contextvars.copy_context()
        context.run(self.send, *taken_out(message))

    def mimebundle(self) -> dict[str, Any]:
        """What a front end finds the widget by."""
        made: Any = AnyWidget._repr_mimebundle_(self)
        return dict(made[0] if isinstance(made, tuple) else made)
