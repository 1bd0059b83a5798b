"""Buffers: arrays travel beside a message as they are in memory, and in their place it has their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bigdebug.errors import MessageError

PLACE = "$buffer"
"""The one key of what stands in a buffer's place; no content has such a key of its own."""

DEEPEST = 50
"""Levels that a message is nested by at most: none of ours has ten."""


def taken_out(message: Any) -> tuple[Any, list[memoryview]]:
    """A message that is JSON, of one with numpy arrays in it, and the buffers of these."""
    buffers: list[memoryview] = []

    def out(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            buffers.append(memoryview(value.tobytes()))
            return {PLACE: len(buffers) - 1}
        if isinstance(value, dict):
            return {key: out(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [out(each) for each in value]
        return value

    return out(message), buffers


def put_in(message: Any, buffers: Sequence[Any], levels: int = DEEPEST) -> Any:
    """The message of which ``buffers`` came, with these in their places as memoryviews. Raises MessageError for a place without one, and for a
    message of more levels than any has.
    """
    if not levels:
        raise MessageError(f"A message is nested by more than {DEEPEST} levels", remedy="Reload the page.")
    if isinstance(message, dict):
        if set(message) == {PLACE}:
            number = message[PLACE]
            if type(number) is not int or not 0 <= number < len(buffers):
                raise MessageError(f"A message with {len(buffers)} buffers names another one", value=number, remedy="Reload the page.")
            return memoryview(buffers[number])
        return {key: put_in(each, buffers, levels - 1) for key, each in message.items()}
    return [put_in(each, buffers, levels - 1) for each in message] if isinstance(message, list) else message
