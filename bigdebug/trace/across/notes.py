"""Notes: sentences about a flow, and those that a step has on what it answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bigdebug.trace.across.located import Located
from bigdebug.trace.across.step import Step, believed, named


@dataclass(frozen=True, eq=False)
class Note:
    """A sentence about a flow. ``harmless`` if it is exact all the same."""

    text: str
    harmless: bool = False


def notes_of(step: Step, found: Sequence[Located]) -> Iterator[Note]:
    """Why an answer of a step's is not exact, and what of it stands on the word of its user. Read behind the answer, for a question finds out more about a step."""
    for reason in dict.fromkeys((*step.incomplete, *(one.why for one in found if one.why))):
        yield Note(f"{named(step)} is incomplete: {reason}")
    if promise := believed(step):
        yield Note(f"{named(step)} is believed: {promise}", True)
