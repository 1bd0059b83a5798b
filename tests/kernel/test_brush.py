"""``%lineage brush``: linked views of what the notebook has."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.error import UsageError

from bigdebug.views.brushview import BrushView
from tests.kernel.shells import Shell

pytestmark = pytest.mark.spark


def test_variables_and_runs_are_linked_over_the_input_that_they_share(totals: Shell, capsys: Any) -> None:
    totals.cell("people = spark.sql('select person, count(*) n from sales group by person')")
    view = totals.cell("%lineage brush totals people --over sales")
    assert isinstance(view, BrushView)
    assert view.names == ("who", "person")
    view.brush("person", lambda frame: frame.person == 2)
    assert view.lit("who").tolist() == (view.frame("who").who == "bob").tolist()
    assert totals.cell("%lineage brush spent people").names == ("who", "person")
    for line, says in {
        "brush": "%lineage brush needs NAME; see %lineage brush?; runs: spent",
        "brush nothing": "'nothing' is neither a run nor a variable with lineage",
        "brush totals people --over people": "These results do not all read an input of this name",
    }.items():
        capsys.readouterr()
        assert isinstance(totals.failure(f"%lineage {line}"), UsageError), line
        assert says in capsys.readouterr().err, line
