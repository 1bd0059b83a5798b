"""Linked views: what each of several views over one input shows of the rows behind the marks that are brushed in the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pyroaring import AbstractBitMap, BitMap

from bigdebug.errors import ViewError
from bigdebug.trace.crossfilter.aggregates import Aggregate, Shown
from bigdebug.trace.crossfilter.associations import NO_MARKS, Association, Rows, Some, chunks, pieces
from bigdebug.trace.crossfilter.backward import Backward
from bigdebug.trace.crossfilter.columns import Column, Reduction
from bigdebug.trace.crossfilter.cubes import Cubes, Totals, cells
from bigdebug.trace.crossfilter.selection import Clauses, Selection
from bigdebug.trace.crossfilter.steps import Choose, Known, Step, cheapest, steps

TOGETHER = 2
"""So many backward indexes are made at once: a sort of numpy lets other threads run."""


@dataclass(frozen=True)
class View:
    """A group-by over the rows: ``association`` says which rows each of its marks took, ``aggregates`` what it shows of them by name."""

    name: str
    association: Association
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a view shows: for each mark how many links it has left, and its aggregates. ``clauses`` are those that filtered it."""

    clauses: Clauses
    counts: npt.NDArray[np.int64]
    values: Mapping[str, Shown]

    @property
    def lit(self) -> BitMap:
        """The marks that share rows with what is brushed: backward, then forward."""
        return BitMap(np.flatnonzero(self.counts).tolist())


class Views:
    """Views over one input that filter each other, never themselves (crossfilter).

    An answer is found the cheapest way there is: from the rows of the brushed marks and the codes of these (BT+FT), from totals of large marks that are kept
    (cubes), or from what the view showed last, or shows of all rows, by the rows that make the difference. All ways give the same numbers. Answers may be asked
    for from one thread while another prepares; the first ones then take scans.
    """

    def __init__(self, views: Sequence[View], cubes: Cubes | None = None, choose: Choose = cheapest) -> None:
        """``choose`` picks one of the ways. Raises ViewError if two views have one name, or not the same rows.

        Aggregates take a pass over their values, counts nothing.
        """
        sizes = {view.association.rows for view in views}
        if len(sizes) > 1 or len({view.name for view in views}) < len(views):
            raise ViewError("Linked views of several inputs, or of one name", value=[view.name for view in views], remedy="Link views of the same rows, each with a name of its own.")
        self._shown = {view.name: _Showing(view) for view in views}
        self._associations = {view.name: view.association for view in views}
        self._cubes, self._choose = Cubes() if cubes is None else cubes, choose

    @property
    def nbytes(self) -> int:
        """Bytes of codes, indexes and cubes, without the values of aggregates."""
        return sum(association.nbytes for association in self._associations.values()) + self._cubes.nbytes

    def answer(self, view: str, selection: Selection) -> Answer:
        """What a view shows. Raises ViewError for a view, or a mark, that is not there."""
        return self.answers(selection, [view])[view]

    def answers(self, selection: Selection, views: Iterable[str] | None = None) -> dict[str, Answer]:
        """What these views show, all if None; together, for they share the rows that are looked for."""
        for name, marks in selection.clauses.items():
            self._check(name, marks)
        backward, found = Backward(self._associations), {}
        for view in self._shown if views is None else views:
            self._check(view)
            clauses = selection.of_others(view)
            found[view] = self._shown[view].answer(clauses, self._totals(view, clauses, backward))
        return found

    def rows(self, selection: Selection) -> Rows:
        """The rows behind what is brushed: those that all clauses let through, ascending. Raises ViewError if nothing is brushed, and for a view, or a mark, that is not there."""
        for name, marks in selection.clauses.items():
            self._check(name, marks)
        if not selection.clauses:
            raise ViewError("Nothing is brushed, so no rows are behind it", remedy='Brush some marks: view.brush("by carrier", [0, 2]).')
        [(view, marks), *rest] = selection.clauses.items()
        return Backward(self._associations).rows(view, marks, NO_MARKS, dict(rest))

    def prepare(self) -> None:
        """Make the indexes of all views and the totals of their large marks, in think time, so that every later answer is fast.

        Views of few marks come first, for theirs are large.
        """
        for showing in self._shown.values():
            showing.see_all()
        order = sorted(self._associations, key=lambda name: self._associations[name].marks)
        with ThreadPoolExecutor(TOGETHER) as threads:
            for brushed, _ in zip(order, threads.map(lambda name: self._associations[name].index(), order)):
                self._cube(brushed)

    def _cube(self, brushed: str) -> None:
        """Keep the totals of the large marks of a view in all others."""
        association = self._associations[brushed]
        wanted = {view: self._cubes.worthwhile(association, showing.columns) - self._cubes.known(brushed, view) for view, showing in self._shown.items() if view != brushed}
        for mark in BitMap.union(BitMap(), *wanted.values()):
            rows = association.rows_of(BitMap([mark]))
            for view, marks in wanted.items():
                if mark in marks:
                    self._cubes.keep(brushed, view, mark, self._shown[view].gathered(rows))

    def _check(self, view: str, marks: AbstractBitMap | None = None) -> None:
        if view not in self._shown:
            raise ViewError("A view that is not linked with the others", value=view, remedy=f"There are {', '.join(self._shown) or 'none'}.")
        there = self._associations[view].marks
        if marks and marks.max() >= there:
            raise ViewError(f"A mark that is none of the {there} of '{view}'", value=marks.max(), remedy="Marks are numbered from 0.")

    def _totals(self, view: str, clauses: Clauses, backward: Backward) -> Totals:
        showing = self._shown[view]
        if not clauses:
            showing.see_all()
        known = [each for each in (showing.last, showing.unfiltered) if each is not None]
        for each in known:
            if each.clauses == clauses:
                return each.totals
        ways = steps(clauses, known, self._associations, showing.mergeable, showing.reversible)
        priced = [(step.cost(self._associations[step.brushed], self._cubes.known(step.brushed, view), showing.cells), step) for step in ways]
        totals = self._taken(self._choose(priced), view, backward)
        showing.last = Known(clauses, totals)
        return totals

    def _taken(self, step: Step, view: str, backward: Backward) -> Totals:
        """The totals that a step leads to."""
        association, showing = self._associations[step.brushed], self._shown[view]
        cubed = self._cubes.known(step.brushed, view)
        if step.alone and step.now[0] in cubed:
            return self._cubes.totals(step.brushed, view, step.now[0])
        totals = step.start
        usable = cubed if association.disjoint and showing.mergeable and not step.rest else BitMap()
        for marks, but, combine in ((step.added, step.before, showing.joined), (step.removed, step.now, showing.apart)):
            for mark in marks & usable:
                known = self._cubes.totals(step.brushed, view, mark)
                totals = known if totals is None else combine(totals, known)
            if others := marks - usable:
                found = showing.gathered(backward.rows(step.brushed, others, but, step.rest))
                totals = found if totals is None else combine(totals, found)
        return showing.gathered(_NO_ROWS) if totals is None else totals


_NO_ROWS: Rows = np.empty(0, dtype=np.uint32)


class _Showing:
    """A view's columns, and what it showed last."""

    def __init__(self, view: View) -> None:
        self._association = view.association
        self._gatherings = {name: aggregate.of(view.association) for name, aggregate in view.aggregates.items()}
        counts: Column = Reduction(np.add, None, 0, view.association.marks)
        self.columns = [counts, *(column for each in self._gatherings.values() for column in each.columns)]
        self.cells = cells(self.columns)
        self.mergeable = not view.association.joint and all(column.mergeable for column in self.columns)
        self.reversible = self.mergeable and all(column.reversible for column in self.columns)
        self.unfiltered: Known | None = None
        self.last: Known | None = None

    def see_all(self) -> None:
        if self.unfiltered is None:
            self.unfiltered = Known({}, self.gathered(None))

    def gathered(self, rows: Rows | None) -> Totals:
        """The totals of rows, of all if None: one pass over them, a chunk after the other."""
        totals = tuple(column.start() for column in self.columns)
        for some in self._some(rows):
            links, marks = self._association.linked(some)
            for column, total in zip(self.columns, totals):
                column.take(total, links, marks)
        return totals

    def _some(self, rows: Rows | None) -> Iterator[Some]:
        if self._association.joint:  # what rows make together, no part of them makes
            return iter((slice(0, self._association.rows) if rows is None else rows.astype(np.intp),))
        return chunks(self._association.rows) if rows is None else pieces(rows)

    def joined(self, totals: Totals, more: Totals) -> Totals:
        return tuple(column.joined(total, other) for column, total, other in zip(self.columns, totals, more))

    def apart(self, totals: Totals, less: Totals) -> Totals:
        return tuple(column.apart(total, other) for column, total, other in zip(self.columns, totals, less))

    def answer(self, clauses: Clauses, totals: Totals) -> Answer:
        marks = self._association.marks
        counts, values, at = totals[0], {}, 1
        for name, gathering in self._gatherings.items():
            behind = at + len(gathering.columns)
            values[name] = gathering.shown(totals[at:behind], counts)[:marks].copy()
            at = behind
        return Answer(clauses, counts[:marks].copy(), values)
