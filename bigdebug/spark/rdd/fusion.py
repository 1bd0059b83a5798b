"""Fusion: which operators of a stage share one table, and so where its levels of records stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bigdebug.agents import segments
from bigdebug.graph import Form, Segment

Pieces = tuple[tuple[Segment, Any], ...]
"""Segments of the graph, each with what executes it."""


def _steps(pieces: Pieces) -> list[tuple[Segment, Any]]:
    """The steps that were fused into ``pieces``; merges stay as they are."""
    found: list[tuple[Segment, Any]] = []
    for segment, run in pieces:
        if isinstance(run, (segments.OneToOne, segments.Offsets)):
            for operator, (form, step) in zip(segment.operators, _forms(segment, run)):
                found.append((Segment((operator,), form), step))
        elif isinstance(run, segments.Kept):
            found.append((replace(segment, form=Form.OFFSETS), run.step))
        elif isinstance(run, (segments.Paired, segments.Whole)):
            found.append((segment, segments.Partitionwise(run.function)))
        else:
            found.append((segment, run))
    return found


def _forms(segment: Segment, run: Any) -> Iterator[tuple[Form, Any]]:
    for step in run.steps:
        one = isinstance(step, segments.Map) or segment.form is Form.ONE_TO_ONE
        yield (Form.ONE_TO_ONE if one else Form.OFFSETS), step


def fuse(steps: Any, apart: bool = False, ends: bool = True) -> Pieces:
    """Neighbouring record-wise operators share one table, unless they are to stand ``apart``; all others have their own.

    A filter that stands first notes what it keeps, which is cheaper than a note at each input.
    The last table of a stage leaves the counting to the emission; ``ends`` says that no more steps follow.
    """
    done: list[tuple[Segment, Any]] = []
    open_: list[tuple[Segment, Any]] = []

    def close() -> None:
        if open_:
            operators = tuple(o for segment, _ in open_ for o in segment.operators)
            found = tuple(step for _, step in open_)
            if all(segment.form is Form.ONE_TO_ONE for segment, _ in open_):
                done.append((Segment(operators, Form.ONE_TO_ONE), segments.OneToOne(found)))
            else:
                done.append((Segment(operators, Form.OFFSETS), segments.Offsets(found)))
            open_.clear()

    for segment, step in steps:
        if apart or not segment.form.record_wise:
            close()
        if segment.form.record_wise:
            if not open_ and not apart and isinstance(step, segments.Filter):
                done.append((replace(segment, form=Form.KEPT), segments.Kept(step)))
            else:
                open_.append((segment, step))
        elif segment.form is Form.PAIRED:
            done.append((segment, segments.Paired(step.function)))
        elif segment.form is Form.WHOLE:
            done.append((segment, segments.Whole(step.function)))
        else:
            done.append((segment, step))
    close()
    if ends and done and isinstance(done[-1][1], segments.Offsets):
        done[-1] = done[-1][0], replace(done[-1][1], last=True)
    return tuple(done)


def split(pieces: Pieces) -> Pieces:
    """The same steps, each operator with a table of its own."""
    return fuse(_steps(pieces), apart=True)


def split_at(pieces: Pieces, operator: int) -> Pieces:
    """The same steps, fused so that the records of ``operator`` stand at a level of their own."""
    steps = _steps(pieces)
    cut = next((n + 1 for n, (segment, _) in enumerate(steps) if segment.operators[-1] == operator), 0)
    return (*fuse(steps[:cut], ends=False), *fuse(steps[cut:]))
