"""The datasets view: the graph of datasets and jobs, and of a dataset its columns and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bigdebug.datasets.drawing import DatasetNode
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.questions import Datasets
from bigdebug.errors import MessageError
from bigdebug.trace.table import Table
from bigdebug.views import feeding
from bigdebug.views.feedchart import figure
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View

if TYPE_CHECKING:
    import plotly.graph_objects as go


class DatasetsView(View):
    """Which data feeds which, drawn: what was used last, or all that is upstream and downstream of one dataset. Displays as a widget, and as a table of datasets.

    ``dataset`` is the name of the one that somebody looks at, ``frame()`` has the links that are shown as pandas, ``figure()`` draws them with plotly.
    """

    kind = "datasets"

    def __init__(self, asked: Datasets, dataset: str | Dataset | None = None) -> None:
        super().__init__()
        self.asked = asked
        self.dataset = ""
        self._focus: str | Dataset | None = dataset
        if dataset is not None:
            self.asked.columns(dataset)  # a name that is none, or several's, is said at once

    # ---- in Python --------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """The links that are shown as a pandas frame: from what, to what, and whether both are the same data."""
        import pandas

        drawn = self.asked.drawn(self._focus)
        named = [str(node.dataset) if isinstance(node, DatasetNode) else node.job for node in drawn.nodes]
        return pandas.DataFrame([(named[link.near], named[link.far], link.same) for link in drawn.links], columns=["from", "to", "same data"])

    def figure(self) -> go.Figure:
        """The graph as a plotly figure, to be restyled."""
        return figure(self.asked.drawn(self._focus))

    def table(self) -> Table:
        answer = self.asked.find() if self._focus is None else self.asked.upstream(self._focus)
        return answer.noting(self.asked.trouble).table()

    def __repr__(self) -> str:
        return f"<view of {self.asked!r}>"

    # ---- what a browser asks ----------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        return {"graph": self._graph, "around": self._around, "dataset": self._dataset, "column": self._column}

    def _graph(self, request: Request) -> dict[str, Any]:
        """As the view was made; of all, if that is said."""
        if request.content.get("all") is True:
            self._focus = None
        return feeding.graph(self.asked.drawn(self._focus), self.asked.trouble)

    def _around(self, request: Request) -> dict[str, Any]:
        self._focus = self.asked.numbered(request.number("dataset"))
        return feeding.graph(self.asked.drawn(self._focus), self.asked.trouble)

    def _dataset(self, request: Request) -> dict[str, Any]:
        number, start = request.number("dataset"), request.number("start")
        of = self.asked.numbered(number)
        self.dataset = str(of)
        return feeding.dataset(number, of, self.asked.columns(of), self.asked.history(of, limit=start + feeding.HISTORY + 1), start)

    def _column(self, request: Request) -> dict[str, Any]:
        of, number = self.asked.numbered(request.number("dataset")), request.number("column")
        names = self.asked.columns(of).column("column")
        if number >= len(names):
            raise MessageError("The dataset has no column of this number any more", value=number, remedy="Look at the dataset again.")
        up, down = (ask(of, names[number]) for ask in (self.asked.upstream, self.asked.downstream))
        drawn = {str(node.dataset): node.id for node in self.asked.drawn(self._focus).nodes if isinstance(node, DatasetNode)}
        named = [str(of), *up.column("dataset"), *down.column("dataset")]
        return feeding.column(names[number], up, down, [drawn[name] for name in named if name in drawn])
