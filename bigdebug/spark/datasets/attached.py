"""Attached: one recording for all sessions of an application that bigdebug is attached to, from the first to the last of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.datasets.model import Process
from bigdebug.datasets.secrets import Secrets
from bigdebug.spark.datasets.recording import Recording

_RECORDING = "_bigdebug_recording"
"""Where a SparkContext keeps its recording, and how many sessions have it open."""


def open_recording(plain: Any, context: Any, record: Callable[[Process], object], secrets: Secrets) -> Recording:
    """The recording of an application, open from now on: of the first session that is attached, which says where processes go. ``plain`` is its SparkContext,
    ``context`` what stands in its place.
    """
    known: Recording
    known, users = vars(plain).get(_RECORDING) or (Recording(context, record, secrets), 0)
    known.open()
    vars(plain)[_RECORDING] = known, users + 1
    return known


def settle_recording(plain: Any, patience: float = 5.0) -> None:
    """Wait until all that has happened is recorded, or some seconds are over."""
    known, _ = vars(plain).get(_RECORDING, (None, 0))
    if known is not None:
        known.settled(patience)


def close_recording(plain: Any) -> None:
    """One session less: the last one ends the recording."""
    known, users = vars(plain).pop(_RECORDING, (None, 0))
    if known is not None and users > 1:
        vars(plain)[_RECORDING] = known, users - 1
    elif known is not None:
        known.close()
