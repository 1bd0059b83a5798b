"""Tracer: what a debug session has to have for what it answers: lineage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Tracer(ABC):
    """Knows the lineage of what it is asked about."""

    @property
    @abstractmethod
    def progress(self) -> bool:
        """Whether questions that take longer than a second show how far they are."""

    @abstractmethod
    def lineage(self, what: Any) -> Any:
        """The trace over all records of an RDD or rows of a DataFrame, or over what a run's action was called on."""
