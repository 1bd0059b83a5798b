"""Aside: work of a view, in a thread of its own, so that neither cells nor other questions wait for it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any


def aside(work: Callable[..., None], *given: Any, name: str = "bigdebug view") -> None:
    """Do it within the context of whoever asks: what a job prints, and its bar, belong to the view and not to the cell that ran last."""
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work, *given), name=name, daemon=True).start()
