"""Results: the rows of a query as Arrow columns under names of their own, with what else is asked of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import _parse_datatype_json_string

from bigdebug.errors import TooLargeError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.python_values import shown_as_text
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.crossfilter.outputs import MOST_MARKS
from bigdebug.trace.names import array_of


class Result:
    """The columns of a query's result, each under its name, or under one with a number if another has that."""

    def __init__(self, steps: Steps) -> None:
        self._catalyst = steps.catalyst
        self.outputs = steps.catalyst.items(steps.root.node.output())
        self.labels = _labels([column.name() for column in self.outputs])

    def read(self, plan: Node, others: Mapping[str, Expr]) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
        """The columns in a plan that has them, and other expressions over it; a job. Raises TooLargeError for more than a million rows."""
        c = self._catalyst
        shown = {f"c{i}": _shown(c, column) for i, column in enumerate(self.outputs)} | dict(others)
        plan = c.project([c.alias(c.lenient(column), name) for name, column in shown.items()], plan)
        plan = c.plan(c.frame(plan).limit(MOST_MARKS + 1))
        table = c.table(plan, dict(zip(shown, c.items(plan.output())))).combine_chunks()
        if table.num_rows > MOST_MARKS:
            raise TooLargeError(
                f"A result of more than {MOST_MARKS:,} rows, and each would be a mark", remedy="Brush a group-by of it: what a plot of it would count.",
            )
        columns = {label: shown_as_text(array_of(table[f"c{i}"])) for i, label in enumerate(self.labels)}
        return columns, {name: array_of(table[name]) for name in others}


def _labels(names: Sequence[str]) -> list[str]:
    """The names, each once: of columns that are called alike the second is ``name#2``."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name}#{seen[name]}"
        while label in found or (label != name and label in names):
            seen[name] += 1
            label = f"{name}#{seen[name]}"
        found.append(label)
    return found


def _shown(catalyst: Catalyst, column: Expr) -> Expr:
    """A column; the text of one whose type Arrow does not know."""
    try:
        to_arrow_type(_parse_datatype_json_string(column.dataType().json()), timezone="UTC")
    except PySparkException:
        return catalyst.cast(column, "STRING")
    return column
