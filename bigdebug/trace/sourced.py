"""Sourced: what was made of records of a job's input, and leads back to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from bigdebug.model import SourceRecord


class Sourced:
    """Has ``finding``, which gives the trace over the records of the job's input that it was made of; None if they cannot be told."""

    finding: Callable[..., Any]

    @cached_property
    def trace(self) -> Any:
        """The trace over the records of the job's input that the record was made of; None if they cannot be told."""
        return self.finding()

    @cached_property
    def sources(self) -> tuple[SourceRecord, ...]:
        """The records of the job's input that the record was made of. May cost a job, once."""
        return () if self.trace is None else tuple(self.trace.source_records())
