"""Rows: what a node of a plan gives, by what is below it: its columns with what each is made of, and what decides over all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bigdebug.datasets.plans import Tree
from bigdebug.datasets.uses import FILTER, JOIN, NOTHING, TRANSFORMATION, Reader, Use, Uses, done_to, union

MODEL = "Model"
"""What the leaf is called that stands for a model."""

VARIABLE = "Variable"
"""And what the leaf is called that stands for a variable of the session."""


@dataclass(frozen=True)
class Made:
    """A column of a result: its number in the plan, its name, and what it is made of."""

    id: int
    name: str
    uses: Uses


@dataclass(frozen=True)
class Rows:
    """What a node gives: its ``columns``, and what decides over all of them (``whole``)."""

    columns: tuple[Made, ...]
    whole: Uses = NOTHING

    def made(self, columns: Sequence[Made]) -> Rows:
        return Rows(tuple(columns), self.whole)

    def decided(self, uses: Uses, how: str) -> Rows:
        """The same where what is used decides which rows there are, or where they stand."""
        return Rows(self.columns, self.whole | done_to(uses, how))


@dataclass
class Reading:
    """A plan that is read from its leaves up, by the ``rules`` of its nodes; ``leaves`` and ``opaque`` nodes are kept as they are met."""

    rules: Mapping[str, Rule]
    to_views: bool = False
    models: Mapping[int, str] = field(default_factory=dict)
    variables: Collection[str] = ()
    views: bool = False
    leaves: list[Tree] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    leaf_of: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of models and variables, by what they are and their names."""
    shared: dict[int, Rows] = field(default_factory=dict)
    """Common table expressions, by number."""

    def __post_init__(self) -> None:
        self.used = Reader(self._subquery, self._variable)

    def rows(self, plan: Tree, outer: Mapping[int, Uses]) -> Rows:
        """What a plan gives; ``outer`` is what columns mean around a subquery."""
        return plan.folded(lambda tree, below: self._node(tree, below, outer))

    def _subquery(self, plan: Tree, known: Mapping[int, Uses]) -> tuple[list[Uses], Uses]:
        rows = self.rows(plan, known)
        return [made.uses for made in rows.columns], rows.whole

    def _node(self, tree: Tree, below: list[Rows], outer: Mapping[int, Uses]) -> Rows:
        known = {**outer, **{made.id: made.uses for rows in below for made in rows.columns}}
        rule = self.rules.get(tree.name)
        if rule is not None:
            return rule(self, tree, below, known)
        if not below:
            return self._leaf(tree)
        self.opaque.append(tree.name)
        return self.opaquely(tree, below, known)

    def _leaf(self, tree: Tree) -> Rows:
        return self.source(tree, [(each.id, each.fields["name"]) for each in tree.output if each.id is not None])

    def source(self, tree: Tree, named: Iterable[tuple[int, str]]) -> Rows:
        """What a leaf gives, by the numbers and names of its columns."""
        number = len(self.leaves)
        self.leaves.append(tree)
        return Rows(tuple(Made(i, name, frozenset({Use(number, name)})) for i, name in named))

    def opaquely(self, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
        """Of a function over rows: each column that it makes is made of all that go in. What makes none may leave rows out, or put them together, by all that
        its expressions use.
        """
        made = [each for name in ("output", "outputAttrs", "resultAttrs", "outputObjAttr") for each in tree.trees(name) if each.id is not None]
        joined = side_by_side(below)
        if not made:
            return joined.decided(self.used.every(tree.expressions, known), JOIN if len(below) > 1 else FILTER)
        everything = done_to(union(each.uses for each in joined.columns), TRANSFORMATION)
        return joined.made([Made(each.id or 0, each.fields["name"], everything) for each in made])

    def named(self, expressions: Sequence[Tree], known: Mapping[int, Uses]) -> list[Made]:
        return [Made(each.id or 0, each.fields["name"], self._by_model(each, self.used(each, known))) for each in expressions]

    def _by_model(self, expression: Tree, uses: Uses) -> Uses:
        """What is used, and the model that makes a column of it, where it is made."""
        name = self.models.get(expression.id or 0)
        if name is None or expression.name != "Alias":
            return uses
        return uses | {Use(self._leaf_of(MODEL, name), "", TRANSFORMATION)}

    def _variable(self, name: str) -> Uses:
        return frozenset({Use(self._leaf_of(VARIABLE, name), name)}) if name in self.variables else NOTHING

    def _leaf_of(self, kind: str, name: str) -> int:
        if (kind, name) not in self.leaf_of:
            self.leaf_of[kind, name] = len(self.leaves)
            self.leaves.append(Tree(kind, {"name": name}, ()))
        return self.leaf_of[kind, name]


def side_by_side(below: Sequence[Rows]) -> Rows:
    return Rows(tuple(made for rows in below for made in rows.columns), union(rows.whole for rows in below))


Rule = Callable[[Reading, Tree, list[Rows], Mapping[int, Uses]], Rows]
"""What a kind of node gives: read by whom, the node, what is below it, and what columns that it may name are made of."""
