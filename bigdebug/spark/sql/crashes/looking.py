"""Looking: on which rows of its inputs a single node of a plan throws, and the node without them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from bigdebug.spark.sql.crashes.blamed import At, Blamed, Looking
from bigdebug.spark.sql.crashes.crashing import crashing
from bigdebug.spark.sql.crashes.grouped import of_values
from bigdebug.spark.sql.crashes.observed import observed
from bigdebug.spark.sql.crashes.pickles import unread
from bigdebug.spark.sql.crashes.single import several
from bigdebug.spark.sql.crashes.sizes import Sizes
from bigdebug.spark.sql.crashes.spoiled import may_fail, spoiled
from bigdebug.spark.sql.crashes.trials import Drawn, Trial, clean, of_pairs, tamed, trials, untellable, without
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.plans.calls import functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.guarding import Guarding
from bigdebug.spark.sql.plans.rewriting import with_expressions


def placed(catalyst: Catalyst, node: Node, below: list[Node], drawn: Sequence[Drawn] = ()) -> tuple[Trial | None, Node]:
    """A node over its inputs, with NULL for what throws in it, and what was drawn; of a join, also what is to be tried on pairs."""
    made = catalyst.with_children(node, below) if below else node
    if made.nodeName() == "Join":
        return of_pairs(catalyst, made)
    return None, with_expressions(catalyst, made, partial(tamed, catalyst, drawn=drawn)) if below else made


class Look:
    """Looks at the nodes of ``query``, one at a time; what cannot be told of one is added to ``unknown``."""

    def __init__(self, frames: FrameRuns, blamed: Blamed, sizes: Sizes, query: Any, unknown: list[str]) -> None:
        self._frames = frames
        self._catalyst = blamed.catalyst
        self._blamed = blamed
        self._sizes = sizes
        self._query = query
        self._unknown = unknown

    def of(self, at: At, node: Node, below: list[Node], how: Guarding, reads: bool) -> Looking:
        """What is found at a node over inputs on which nothing throws; with ``reads``, what Spark cannot read of what its functions give."""
        if not below and may_fail(node):
            return (yield from spoiled(self._frames, self._blamed, self._query, node, at, self._unknown))
        drawn: list[Drawn] = []
        made = yield from self._found(at, node, below, how, reads, drawn)
        return made if made is None or not drawn else without(self._catalyst, made, drawn)

    def _found(self, at: At, node: Node, below: list[Node], how: Guarding, reads: bool, drawn: list[Drawn]) -> Looking:
        """The same; what is not deterministic is added to ``drawn``, and may be among the columns."""
        c = self._catalyst
        asked = self._sizes.asked(at.step)
        over = c.with_children(node, below) if below else node
        for trial in chain(trials(c, over, asked.computed), observed(c, over)):
            if self._mixes(at, trial):
                return None
            yield from self._blamed.throwing(at, trial)
            if trial.input is not None:
                below[trial.input], known = clean(c, trial)
                drawn += known
        if below and (met := several(c, c.with_children(node, below))) is not None:
            yield from self._blamed.throwing(at, met.trial)
            below[0] = met.others
        pairs, made = placed(c, node, below, drawn)
        if pairs is not None:
            if self._mixes(at, pairs):
                return None
            yield from self._blamed.throwing(at, pairs)
        if functions := functions_of(c, made):
            return (yield from (self._read(at, made, functions) if reads else self._guarded(at, made, functions, how._replace(sized=asked.given))))
        values = of_values(c, made, partial(self._sizes.small, at.step))
        if values is not None:
            trial, made = values
            if self._mixes(at, trial):
                return None
            yield from self._blamed.throwing(at._replace(waves=at.waves.everywhere), trial)
        return made

    def _mixes(self, at: At, trial: Trial) -> bool:
        """Whether a trial cannot be told row by row, which is said then."""
        if not untellable(self._catalyst, trial):
            return False
        operator = self._blamed.operator(at.node)
        self._unknown.append(
            f"{operator} builds maps of what is drawn, and Spark keeps something of a row that it throws on there for the next one: "
            "which rows of it crash is not known, nor what does above it.",
        )
        return True

    def _guarded(self, at: At, node: Node, functions: list[Expr], how: Guarding) -> Looking:
        """A node that calls functions, under guard."""
        found = crashing(at.waves, node, functions, how)
        if found is None:
            self._unknown.append(f"{self._blamed.operator(at.node)} runs Python code that cannot be run under guard, nor what is above it.")
            return None
        crashed, anew = 0, False
        for crashes in found:
            if crashes.anew:
                at.telling.anew()
            crashed, anew = crashed + len(crashes.found), anew or crashes.anew
            yield self._blamed.crashed(at, crashes.found)
        if not anew and not at.waves.confirms(crashed):  # it does not crash each time
            at.telling.anew()
            return (yield from self._guarded(at._replace(waves=at.waves.everywhere), node, functions, how))
        if at.waves.whole:
            self._sizes.saw(at.step, crashes.small)
        return crashes.clean

    def _read(self, at: At, node: Node, functions: list[Expr]) -> Looking:
        """A node that calls functions, of which it is looked at whether Spark can read what they give."""
        unreadable = unread(at.waves, node, functions)
        if unreadable is None:
            return node
        if unreadable.clean is None:
            self._unknown.append(f"What is computed of what {self._blamed.operator(at.node)} gives was not looked at, for not all of it can be read.")
        yield self._blamed.crashed(at, unreadable.found)
        return unreadable.clean
