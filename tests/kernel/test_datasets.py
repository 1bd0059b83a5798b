"""``%lineage datasets``: the questions of ``dbg.datasets``, in the words of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

import bigdebug
from bigdebug.datasets.store import DatasetStore
from bigdebug.views.datasetsview import DatasetsView
from tests.kernel.shells import Shell
from tests.unit.test_datasets_questions import CLEAN, LOOK, PUBLISH, SUM


@pytest.fixture
def recorded(shell: Shell, tmp_path: Any) -> Iterator[Shell]:
    """A shell whose session asks a store of its own."""
    asked = bigdebug.attach(shell.user_ns["spark"]).datasets
    before, asked.store = asked.store, DatasetStore(tmp_path / "s.sqlite")
    asked.store.record(CLEAN, SUM, PUBLISH, LOOK, replace(SUM, id="p9"))
    yield shell
    asked.store.close()
    asked.store = before


@pytest.mark.many
@pytest.mark.parametrize(("line", "first"), [
    ("upstream report", ["1", "shop.sales"]), ("downstream 'orders' -n 1", ["1", "shop.sales"]), ("upstream report -c total", ["1", "shop.sales"]),
    ("impact orders price", ["fails", "sum"]), ("list ord", ["shop.orders", "table"]), ("show sales", ["name", "int"]), ("changed sum", None),
])
def test_questions_are_answered_as_the_session_does(recorded: Shell, line: str, first: list[str] | None) -> None:
    if first is None:
        assert "Nothing is different." in recorded.cell(f"%lineage datasets {line}").notes
    else:
        assert recorded.table(f"%lineage datasets {line}")[0][:2] == first


def test_the_graph_is_a_view(recorded: Shell) -> None:
    around = recorded.cell("%lineage datasets graph report")
    assert isinstance(around, DatasetsView)
    assert around.table().caption == "Upstream of file:/out/report"
    assert isinstance(recorded.cell("%lineage datasets graph"), DatasetsView)


def test_what_has_no_answer_is_a_sentence(recorded: Shell) -> None:
    for line, said in (
        ("upstream", "takes 1 name"), ("impact orders", "takes 2 names"), ("upstream nothing_like_it", "Nothing was recorded"), ("updown x", "invalid choice"),
        ("history orders -c price", "--column is for upstream, downstream"), ("trace sales", "capture"),
    ):
        assert said in str(recorded.failure(f"%lineage datasets {line}"))


def test_tab_offers_questions_and_datasets(recorded: Shell) -> None:
    def offered(line: str) -> list[str]:
        with provisionalcompleter():
            return [each.text for each in recorded.Completer.completions(line, len(line))]

    assert {"upstream", "impact"} <= set(offered("%lineage datasets "))
    assert "orders" in offered("%lineage datasets upstream or")
