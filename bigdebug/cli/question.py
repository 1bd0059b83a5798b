"""A question: a word of the command line, what it takes, and its answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bigdebug.datasets.answers import Answer

Takes = Sequence[tuple[tuple[str, ...], dict[str, Any]]]
"""Names and properties of arguments, as argparse takes them; those that are ``apart`` by the same word exclude one another."""


def rows_at_most(text: str) -> int:
    """How many rows of an answer are wanted: a whole number from 0 on."""
    try:
        count = int(text)
    except ValueError:
        count = -1
    if count < 0:
        raise argparse.ArgumentTypeError(f"no number of rows: {text!r}")
    return count


class Question(NamedTuple):
    """What a word asks, what it takes, its answer, and whether that says that something is wrong."""

    help: str
    takes: Takes
    ask: Callable[[argparse.Namespace], Answer]
    wrong: Callable[[Answer], bool] = lambda answer: False
