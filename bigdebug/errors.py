"""What can go wrong, by name: each error says what happened, shows the value, and hints at the remedy."""

from __future__ import annotations

from typing import Any

from bigdebug.shown import shown

_LONGEST = 300
"""Characters of a value that a message shows."""


class BigdebugError(Exception):
    """Root of every error that bigdebug raises on its own account.

    ``what`` is a sentence, ``value`` the offending value (shown by repr), ``remedy`` what to do about it.
    Whatever was found before the error is kept in ``partial``.
    """

    def __init__(self, what: str, *, value: Any = None, remedy: str = "", partial: Any = None) -> None:
        self.what = what
        self.value = value
        self.remedy = remedy
        self.partial = partial
        got = "" if value is None else f" (got {_brief(value)})"
        hint = f" {remedy}" if remedy else ""
        super().__init__(f"{what}{got}.{hint}")


def _brief(value: Any) -> str:
    """The value, if that is a line; else as much as tells what it is."""
    text = shown(value)
    if "\n" in text:
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class NotCapturedError(BigdebugError):
    """A question about an RDD or a run of which no lineage was captured."""


class UnknownRecordError(BigdebugError):
    """A record id that names no record of its operator."""


class UnknownOperatorError(BigdebugError):
    """An operator, or a source, that is not part of the run that is asked."""


class UnknownItemError(BigdebugError):
    """A data-item that a provenance graph does not have; the message names ids near it."""


class ProvenanceError(BigdebugError):
    """Provenance triples, or a workflow, that no provenance graph can be made of."""


class DatasetsError(BigdebugError):
    """What was recorded of datasets, or is to be, cannot be read."""


class UnknownDatasetError(DatasetsError):
    """A dataset, a job or a process of which nothing was recorded; the message names what is near."""


class AmbiguousDatasetError(DatasetsError):
    """A name that several datasets have; the message names them."""


class UnknownColumnError(BigdebugError):
    """A column that the rows which are asked about do not have."""


class StoreError(BigdebugError):
    """The lineage store cannot be read or written."""


class BlockLostError(StoreError):
    """A file of the lineage store that is not there; what was in it can be derived."""


class StoreVersionError(StoreError):
    """A block or a saved session of a format that this version does not read."""


class CorruptStoreError(StoreError):
    """A store of datasets that has been damaged, or is none."""


class CorruptBlockError(StoreError):
    """A block whose bytes are not the bytes that were written."""


class IncompleteLineageError(BigdebugError):
    """Lineage that a question needs was not captured, or not wholly, and cannot be derived here."""


class SourceChangedError(BigdebugError):
    """An input of the run is not what it was when the run read it."""


class NondeterminismError(BigdebugError):
    """A stage whose recomputation disagrees with the run: its records cannot be shown again."""


class UntraceableError(BigdebugError):
    """An operator, or a source, through which lineage cannot be derived; named with its place in the query."""


class TooLargeError(BigdebugError):
    """An answer that the driver would not hold: spark.driver.maxResultSize is Spark's word for how much it does."""


class PipelineError(BigdebugError):
    """Steps that cannot be joined as asked, or records of a file that no step of a pipeline read or wrote."""


class UnknownStepError(PipelineError):
    """A step, or a file, that a pipeline does not have; the message names those near."""


class ActorError(BigdebugError):
    """A call of the capture API that cannot be: a commit twice, a capture after it, types that do not fit."""


class UnknownActorError(ActorError):
    """An actor that was never registered, or of which nothing is there any more."""


class PredicateError(BigdebugError):
    """A predicate of ``where`` that Spark cannot read; or one that raised: on which record and line, and what, with PySpark's own
    account as its cause.
    """


class ReplayError(BigdebugError):
    """A program that cannot be run again as asked."""


class LocalizeError(BigdebugError):
    """A test of which no cause can be looked for: nothing is wrong, everything is, or it raises."""


class ViewError(BigdebugError):
    """A linked view that is not there, a mark that it does not have, or values that it cannot show."""


class MessageError(BigdebugError):
    """A message between the browser and the kernel that is of another version, or says nothing that is known here."""
