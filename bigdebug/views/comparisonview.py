"""The replay view: two results side by side, and the inputs behind what is different."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from bigdebug.errors import MessageError
from bigdebug.localize.comparison import Comparison
from bigdebug.trace.table import Table
from bigdebug.views import comparing
from bigdebug.views.comparing import KINDS, Fields
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View


class ComparisonView(View):
    """What is different between two results: outputs that were added, removed or changed, with the inputs behind each. Displays as a widget, and as a table of the same.

    ``frame()`` has the changes as pandas: all of those of the kind that somebody looks at.
    """

    kind = "comparison"

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison
        self._looked_at = "all"

    # ---- in Python --------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """The changes that are shown as a pandas frame: of each field what it was and what it is, and how many inputs are behind it."""
        import pandas

        fields = self._fields
        numbers, inputs = fields.numbers(self._looked_at), [each.inputs for each in fields.changes]
        columns: list[tuple[str, list[Any]]] = [("change", [fields.changes[number].kind for number in numbers])]
        for side, of in (("before", fields.before), ("after", fields.after)):
            rows = [of(number) for number in numbers]
            columns += [(f"{name} {side}", [None if row is None else row[place] for row in rows]) for place, name in enumerate(fields.columns)]
        for name, count in (("inputs gone", "gones"), ("inputs new", "news"), ("inputs of both", "same")):
            columns.append((name, [None if inputs[number] is None else getattr(inputs[number], count) for number in numbers]))
        found = pandas.DataFrame({place: pandas.Series(values, dtype="object") for place, (_, values) in enumerate(columns)})
        return found.set_axis([name for name, _ in columns], axis=1)  # columns of a query may be called alike

    def table(self) -> Table:
        return self.comparison.table()

    def __repr__(self) -> str:
        return f"<view of a comparison: {len(self._fields.changes):,} changes, {self.comparison.kept:,} the same>"

    # ---- what a browser asks ----------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        return {"comparison": self._summary, "page": self._page}

    @cached_property
    def _fields(self) -> Fields:
        return Fields(self.comparison.every)

    def _summary(self, request: Request) -> dict[str, Any]:
        return comparing.summary(self.comparison, self._fields)

    def _page(self, request: Request) -> dict[str, Any]:
        kind = request.text("kind")
        if kind not in ("all", *KINDS):
            raise MessageError(f"Changes are {', '.join(KINDS)}, or all", value=kind, remedy="Reload the page.")
        found = comparing.page(self._fields, kind, request.number("start"))
        self._looked_at = kind
        return found
