"""The replay view's messages: the golden files, which the widget's own tests read and write as well, and what is different within outputs.

``python -m tests.unit.test_comparison_view`` writes them anew.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bigdebug
from bigdebug.localize.comparison import Change, Comparison, Inputs, compared
from bigdebug.model import Origin, SourceRecord
from bigdebug.views.comparing import KINDS, ROWS
from bigdebug.views.comparisonview import ComparisonView
from bigdebug.views.fields import COLUMNS
from bigdebug.views.payload import VERSION
from tests.unit.test_payload import HOSTILE

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "comparison"


def source(record: Any, index: int) -> SourceRecord:
    return SourceRecord(record, index, Origin("sales", index=index), 1)


CHANGED = Change(
    (("oslo", -41.5, None),), (("oslo", 12.25, None),), Inputs((source(("oslo", -999.0), 7),), (source((HOSTILE, float("nan")), 8),), 1, 1, 4),
)
REWRITTEN = Change((("text", HOSTILE, b"\x00"),), (("text", HOSTILE.replace("1", "7"), b"\x00"),))
REMOVED = Change(((HOSTILE, float("nan"), {"nested": [1, (2,)]}),), (), Inputs(tuple(source(number, number) for number in range(20)), (), 31, 0, 0))
ADDED = Change((), (("x" * 1_000_000, 5, "שלום"),), Inputs((), (source(1, 1), source(2, 2)), 0, 2, 0))
FOUND = Comparison(
    (CHANGED.after[0], ADDED.after[0]), (CHANGED.before[0], REMOVED.before[0]), 3, (CHANGED, REWRITTEN, REMOVED, ADDED), (f"Behind 1 more change nobody has looked {HOSTILE}",),
)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


REQUESTS = {
    "comparison": ("comparison", {}), "page": ("page", {"kind": "all", "start": 0}), "added": ("page", {"kind": "added", "start": 0}),
    "unknown": ("page", {"kind": "else", "start": 0}),
}


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file."""
    view = ComparisonView(FOUND)
    return {f"answer-{'refused' if name == 'unknown' else name}": view.answer(golden(f"request-{name}")) for name in REQUESTS}


def asked(view: ComparisonView, request: str, **content: Any) -> Any:
    return view.answer({"version": VERSION, "id": 1, "request": request, "content": content})["content"]


def pages(view: ComparisonView, kind: str = "all") -> list[Any]:
    """All changes of a kind, as a browser gets them."""
    found: list[Any] = []
    while True:
        page = asked(view, "page", kind=kind, start=len(found))
        found += page["changes"]
        if len(found) >= page["total"]:
            return found


def test_the_kernel_writes_the_golden_files() -> None:
    said = written()
    assert said == {name: golden(name) for name in said}
    assert {path.stem for path in GOLDEN.glob("answer-*.json")} == set(said)


def test_what_is_different_within_a_change_is_marked() -> None:
    changes = pages(ComparisonView(FOUND))
    assert [(each["kind"], each["differ"]) for each in changes] == [("changed", [1]), ("changed", [1]), ("removed", []), ("added", [])]
    assert changes[0]["before"] == ["'oslo'", "-41.5", "None"]
    assert (changes[0]["inputs"]["gones"], changes[0]["inputs"]["same"], changes[1]["inputs"]) == (1, 4, None)
    assert (len(changes[2]["inputs"]["gone"]), changes[2]["inputs"]["gones"], changes[2]["after"]) == (20, 31, None)


@pytest.mark.parametrize(("old", "new", "differ"), [
    ((1, "x" * 5_000 + "a"), (1, "x" * 5_000 + "b"), [1]),  # beyond what is shown
    ((1, float("nan"), 0.1 + 0.2), (1, None, 0.3), [1]),  # alike, as all of it is; shown otherwise
    ((1, [1, 2], {"a": 1}), (1, (1, 2), {"a": 2}), [2]),
    ((1, Decimal("2.50"), 3), (1, 2.5, 4), [2]),
    ((1, 2, 3), (1, 2), [0]),  # of two lengths: the record
])
def test_fields_are_compared_as_outputs_are(old: Any, new: Any, differ: list[int]) -> None:
    view = ComparisonView(Comparison((new,), (old,), 0, (Change((old,), (new,)),)))
    assert pages(view)[0]["differ"][: len(differ)] == differ


def test_results_of_which_lineage_was_not_compared_are_shown_by_key() -> None:
    view = bigdebug.view(compared([("a", 1), ("b", 2), ("c", 3)], [("b", 2), ("a", 5), ("d", 4)]))
    assert asked(view, "comparison") == {"changed": 1, "added": 1, "removed": 1, "kept": 1, "notes": []}
    assert [(each["before"], each["after"], each["inputs"]) for each in pages(view)] == [
        (["'a'", "1"], ["'a'", "5"], None), (["'c'", "3"], None, None), (None, ["'d'", "4"], None),
    ]


def test_many_changes_come_by_pages_and_each_kind_alone() -> None:
    view = ComparisonView(compared(range(1_000), range(500, 1_750)))
    assert [len(pages(view, kind)) for kind in ("all", *KINDS)] == [1_250, 0, 750, 500]
    assert len(asked(view, "page", kind="all", start=0)["changes"]) == ROWS
    assert asked(view, "page", kind="all", start=9_999)["changes"] == []
    assert pages(view)[1_249]["number"] == 1_249


def test_two_results_that_are_the_same_have_no_changes() -> None:
    view = ComparisonView(compared(["a"] * 3, ["a"] * 3))
    assert asked(view, "comparison") == {"changed": 0, "added": 0, "removed": 0, "kept": 3, "notes": []}
    assert asked(view, "page", kind="all", start=0)["changes"] == []
    assert len(view.frame()) == 0


def test_a_message_has_no_more_columns_than_are_shown() -> None:
    wide = tuple(range(COLUMNS + 7))
    page = asked(ComparisonView(compared([wide], [])), "page", kind="all", start=0)
    assert (len(page["columns"]), page["left"], len(page["changes"][0]["before"])) == (COLUMNS, 7, COLUMNS)


def test_the_frame_has_what_is_shown_as_values() -> None:
    view = ComparisonView(FOUND)
    frame = view.frame()
    assert list(frame.columns) == ["change", "_1 before", "_2 before", "_3 before", "_1 after", "_2 after", "_3 after", "inputs gone", "inputs new", "inputs of both"]
    assert frame["_2 before"].tolist()[:1] == [-41.5]
    assert frame["inputs gone"].tolist() == [1, None, 31, 0]
    asked(view, "page", kind="added", start=0)
    assert view.frame()["_3 after"].tolist() == ["שלום"]
    asked(view, "page", kind="else", start=0)
    assert len(view.frame()) == 1


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-1, 5) | st.sampled_from(["all", *KINDS, ""])
    return st.tuples(st.sampled_from(["comparison", "page", "eval"]), st.dictionaries(st.sampled_from(["kind", "start"]), leaves))


@given(st.lists(anything(), max_size=6))
def test_whatever_is_asked_has_an_answer_that_is_json(messages: list[Any]) -> None:
    view = ComparisonView(FOUND)
    for request, content in messages:
        said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
        json.dumps(said, allow_nan=False)
        assert said["answer"] in (request, "refused")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for number, (name, (request, content)) in enumerate(REQUESTS.items(), 1):
        message = {"version": VERSION, "id": number, "request": request, "content": content}
        (GOLDEN / f"request-{name}.json").write_text(json.dumps(message, indent=2) + "\n")
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")
