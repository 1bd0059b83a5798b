"""Uses: how a column is made of others. The words are those of OpenLineage's facet columnLineage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from bigdebug.datasets.plans import Tree

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
"""A value goes into another as it is, changed, or with those of other rows."""

JOIN, GROUP_BY, FILTER, SORT, WINDOW, CONDITIONAL = "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"
"""A value decides which others go in, or where."""

UNKNOWN = "UNKNOWN"
"""How a column is used by a step of which no columns are known."""

DIRECT = (IDENTITY, TRANSFORMATION, AGGREGATION)
"""From the least to the most that is done to a value: of two steps the greater one is what is done."""


@dataclass(frozen=True, order=True)
class Use:
    """A column of a source (the number of its leaf in the plan, its name) and how it is used. ``masking``: its values cannot be told from the result."""

    leaf: int
    column: str
    how: str = IDENTITY
    masking: bool = False

    @property
    def is_direct(self) -> bool:
        return self.how in DIRECT

    def then(self, how: str, masking: bool = False) -> Use:
        """The use by what is done next with the result of this one."""
        if how not in DIRECT:
            return replace(self, how=how, masking=False)
        if not self.is_direct:
            return self
        return replace(self, how=max(self.how, how, key=DIRECT.index), masking=self.masking or masking)


Uses = frozenset[Use]

NOTHING: Uses = frozenset()


class Struct(frozenset[Use]):
    """What a struct uses that a query makes, which is all that its ``parts`` do: who takes one of its fields uses what that part does, and no more."""

    parts: tuple[Uses, ...]

    @classmethod
    def of(cls, parts: Iterable[Uses]) -> Struct:
        """The struct with these fields."""
        known = tuple(parts)
        made = cls(done_to(union(known), TRANSFORMATION))
        made.parts = known
        return made


_MASKING = frozenset({
    "Count", "CountIf", "ApproxCountDistinct", "HyperLogLogPlusPlus", "Md5", "Sha1", "Sha2", "Murmur3Hash", "XxHash64", "HiveHash", "Crc32", "Mask",
    "IsNull", "IsNotNull",
})
"""Of what these give, nobody can tell what they were given."""

_RANKS = frozenset({"Rank", "DenseRank", "PercentRank"})
"""What these give is made of no value: what is below them is what their window is ordered by."""

SubqueryReader = Callable[[Tree, Mapping[int, "Uses"]], tuple[list["Uses"], "Uses"]]
VariableReader = Callable[[str], "Uses"]


def done_to(uses: Uses, how: str, masking: bool = False) -> Uses:
    """What is used where something more is done with it."""
    return frozenset(use.then(how, masking) for use in uses)


def union(uses: Iterable[Uses]) -> Uses:
    """What any of them uses."""
    return NOTHING.union(*uses)


class Reader:
    """Reads expressions over columns that are known. ``subquery(plan, known)`` gives what a plan within them uses: for each of its columns,
    and for all of them; ``variable(name)`` what a variable of the session is made of.
    """

    def __init__(self, subquery: SubqueryReader, variable: VariableReader = lambda name: NOTHING) -> None:
        self._subquery, self._variable = subquery, variable

    def __call__(self, expression: Tree, known: Mapping[int, Uses]) -> Uses:
        """What the expression uses. A column that is not known has no source: the number of a group, say."""
        return expression.folded(lambda tree, below: self._one(tree, below, known))

    def every(self, expressions: Iterable[Tree], known: Mapping[int, Uses]) -> Uses:
        """What any of them uses."""
        return union(self(each, known) for each in expressions)

    def _one(self, tree: Tree, below: list[Uses], known: Mapping[int, Uses]) -> Uses:
        if tree.name == "AttributeReference":
            return known.get(tree.id or 0, NOTHING)
        if tree.name == "VariableReference":
            return self._variable(str(tree.fields["originalNameParts"]).strip("[]").rpartition(",")[2].strip().lower())  # Spark writes no list: [session, x]
        if tree.name == "OuterReference":
            return self.every(tree.trees("e"), known).union(*below)
        if tree.subquery is not None:
            columns, whole = self._subquery(tree.subquery, known)
            if tree.name == "Exists":  # it asks whether there is a row, whatever is in it
                columns = []
            given = union(columns) if tree.name == "ScalarSubquery" else done_to(union(columns), TRANSFORMATION)
            return given | whole | done_to(union(below), FILTER)
        if tree.name == "Alias" or _changes_nothing(tree):
            return below[0]
        if tree.name in _RANKS:
            return NOTHING
        if tree.name == "AggregateExpression":
            return below[0] | done_to(union(below[1:]), CONDITIONAL)  # FILTER (WHERE ...)
        if tree.name == "WindowExpression":
            return below[0] | done_to(below[1], WINDOW)
        if tree.name == "CreateNamedStruct":  # it lists each name with its value
            return Struct.of(below[1::2])
        if tree.name == "GetStructField" and isinstance(below[0], Struct):
            return below[0].parts[int(tree.fields["ordinal"])]
        if tree.name == "ListAgg":  # what is listed, what stands between, and in which order
            return done_to(union(below[:2]), AGGREGATION) | done_to(union(below[2:]), SORT)
        how = AGGREGATION if ".aggregate." in tree.fields["class"] or tree.name == "PythonUDAF" else TRANSFORMATION
        conditions = _conditions(tree.name, len(below))
        values = union(uses for i, uses in enumerate(below) if i not in conditions)
        return done_to(values, how, tree.name in _MASKING).union(*(done_to(below[i], CONDITIONAL) for i in conditions))


def _changes_nothing(tree: Tree) -> bool:
    """Whether it is a cast of a column to the type that it has, as Spark puts into a view in case that its table changes."""
    return tree.name == "Cast" and tree.below[0].name == "AttributeReference" and tree.fields.get("dataType") == tree.below[0].fields.get("dataType")


def _conditions(name: str, children: int) -> range:
    """Which children of an expression are conditions alone: a CASE lists each with its value, and a last value; a pivot selects by its first."""
    return range(0, children - 1, 2) if name == "CaseWhen" else range(name in ("If", "PivotFirst"))
