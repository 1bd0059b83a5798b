"""``bigdebug.view(x)``: what somebody looks at, in a notebook or anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from bigdebug.datasets.questions import Datasets
from bigdebug.errors import NotCapturedError, ViewError
from bigdebug.localize.comparison import Comparison
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.search import Search
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.graph import ProvenanceGraph
from bigdebug.provgraph.paths import Paths
from bigdebug.provgraph.questions import Common
from bigdebug.session import active_session
from bigdebug.trace.capture import Capture
from bigdebug.trace.run import Run
from bigdebug.trace.watch import Watch
from bigdebug.views.comparisonview import ComparisonView
from bigdebug.views.culpritview import culprits_in
from bigdebug.views.datasetsview import DatasetsView
from bigdebug.views.diagnosisview import DiagnosisView
from bigdebug.views.provenance import picture
from bigdebug.views.traceview import TraceView
from bigdebug.views.view import View
from bigdebug.views.watchview import WatchView

if TYPE_CHECKING:
    import plotly.graph_objects as go


@overload
def view(what: Answer | Paths) -> go.Figure: ...


@overload
def view(what: Any) -> View: ...


def view(what: Any) -> Any:
    """A view of a run, a trace, or an RDD or DataFrame of which an action was captured: its operators, and its records to step from.

    Of a diagnosis, or of a ``bigdebug.Search()`` that ``dbg.localize`` is given: fault sets, and how far the search is. Of a comparison: both results side by side.
    Of culprits, one culprit, or a run that failed: what crashed, to leave out, repair and resume.
    Of a watch: what tasks tell of records, while they run. Of an answer about a provenance graph, paths or common ancestors in one: a plotly figure, if it is small.
    Of ``dbg.datasets``: the graph of datasets and jobs, with columns and histories.
    In a notebook it is a widget; elsewhere, the table of ``what``. Raises NotCapturedError for what no lineage is known of. Costs no job:
    records are read when they are looked at.
    """
    if isinstance(what, Diagnosis | Search):
        return DiagnosisView(what)
    if isinstance(what, Comparison):
        return ComparisonView(what)
    if isinstance(what, Watch):
        return WatchView(what)
    if isinstance(what, Answer | Paths | Common):
        return picture(what)
    if isinstance(what, ProvenanceGraph):
        raise ViewError(
            "Of a provenance graph, answers, paths and common ancestors are drawn", value=what,
            remedy="bigdebug.view(graph.ancestors(item)), or of graph.descendants(item), graph.paths(a, b) or graph.common([a, b]).",
        )
    if isinstance(what, Datasets):
        return DatasetsView(what)
    if isinstance(what, Capture):
        what = what.latest
    if hasattr(what, "goBackAll"):  # a trace of any kind, also of a saved session
        return TraceView(what)
    session = active_session(join=False)
    if (crashed := culprits_in(what, session)) is not None:
        return crashed
    if session is None:
        raise NotCapturedError(
            "bigdebug is attached to no Spark session that runs, so it knows no lineage", value=what,
            remedy="bigdebug.attach(spark), or %load_ext bigdebug, and run the job again; of a saved session, give a trace: saved.lineage(run).",
        )
    return TraceView(session.lineage(what), what.table if isinstance(what, Run) else None)
