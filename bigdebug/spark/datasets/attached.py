"""Attached: one recording for all sessions of an application that bigdebug is attached to, from the first to the last of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bigdebug.datasets.model import Process
from bigdebug.datasets.secrets import Secrets
from bigdebug.spark.datasets.recording import Recording

_RECORDING = "_bigdebug_recording"
"""Where a SparkContext keeps its recording."""


@dataclass
class _Shared:
    recording: Recording
    users: set[int] = field(default_factory=set)
    """The sessions that have it open."""


def open_recording(plain: Any, user: object, context: Any, record: Callable[[Process], object], secrets: Secrets) -> Recording:
    """The recording of an application, open until each ``user`` has closed it. The first one says where processes go. ``plain`` is the SparkContext, ``context`` what
    stands in its place.
    """
    shared = vars(plain).get(_RECORDING)
    if shared is None:
        shared = vars(plain)[_RECORDING] = _Shared(Recording(context, record, secrets))
    shared.users.add(id(user))
    recording: Recording = shared.recording
    recording.open()
    return recording


def settle_recording(plain: Any, patience: float = 5.0) -> None:
    """Wait until all that has happened is recorded, or some seconds are over."""
    shared = vars(plain).get(_RECORDING)
    if shared is not None:
        shared.recording.settled(patience)


def close_recording(plain: Any, user: object) -> None:
    """A user less: the last one ends the recording."""
    shared = vars(plain).get(_RECORDING)
    if shared is not None:
        shared.users.discard(id(user))
        if not shared.users:
            vars(plain).pop(_RECORDING).recording.close()
