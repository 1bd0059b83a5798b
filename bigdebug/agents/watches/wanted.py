"""Wanted: what tasks are asked to tell of the records that pass, in the words of a local property of a job.

Spark shows these properties to everybody who sees its pages: a guard travels over the connection, and the secret within the
functions of the stages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bigdebug.agents.watches.sealed import Secret


class Wanted(NamedTuple):
    """What one watch asks, of an operator or of all: records for which a guard holds (``guarded``), calls that take longer than ``timeout``
    seconds, and those that take ``slow`` standard deviations longer than others. ``rate`` records of a task are sent in a second at most.
    """

    watch: str
    operator: int | None
    guarded: bool
    timeout: float | None
    slow: float | None
    rate: int

    def concerns(self, operators: Iterable[int]) -> bool:
        """Whether it asks of any of these operators."""
        return self.operator is None or self.operator in operators


class Asked(NamedTuple):
    """What is wanted, and the address at which the driver hears of it."""

    address: tuple[str, int]
    wanted: tuple[Wanted, ...]

    def packed(self) -> str:
        return json.dumps([list(self.address), [list(each) for each in self.wanted]])

    @classmethod
    def unpacked(cls, packed: str) -> Asked:
        (host, port), wanted = json.loads(packed)
        return cls((host, port), tuple(Wanted(*each) for each in wanted))


@dataclass(frozen=True)
class Link:
    """What a stage knows of the driver before it is asked anything: the secret, and how its records are pickled."""

    secret: Secret
    dumps: Any
