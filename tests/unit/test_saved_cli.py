"""The command line over saved sessions: tables for a person, JSON for a program, and what it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bigdebug
from bigdebug.cli import main
from bigdebug.cli.saved import WORDS
from bigdebug.cli.saved import _operator as operator_of
from bigdebug.errors import UnknownOperatorError
from bigdebug.graph import Form, Kind, Operator, OperatorGraph
from tests.unit.saved import rewritten, session

Said = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return session(tmp_path / "sessions" / "saved")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Said:
    def ask(*words: object) -> tuple[int, str, str]:
        try:
            code = main(list(map(str, words)))
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


def rows(run: Said, *words: object) -> list[dict[str, object]]:
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert set(told) == {"title", "rows", "notes"}
    return told["rows"]


def test_runs_and_what_of_each_is_there(run: Said, saved: Path) -> None:
    assert [(r["name"], r["associations"], r["outputs saved"]) for r in rows(run, "runs", saved)] == [("rows", 10, 3), ("records", 10, 3)]
    assert "saved" in run("runs", saved)[1]


def test_a_run_its_operators_and_its_outputs(run: Said, saved: Path) -> None:
    assert [r["name"] for r in rows(run, "show", saved, "r1")] == ["textFile", "Aggregate"]
    assert [r["rid"] for r in rows(run, "show", saved, "rows", "--outputs")] == [0, 1, 2]
    assert len(rows(run, "show", saved, "rows", "--outputs", "-n", 2)) == 2
    _, out, _ = run("show", saved, "rows", "--outputs", "-n", 2)
    assert "1 record more" in out
    assert "\u202e" not in run("show", saved, "rows", "--outputs")[1]


def test_traces_back_and_ahead(run: Said, saved: Path) -> None:
    assert [r["origin"] for r in rows(run, "trace", saved, "rows", "--output", 2)] == ["/data/a.csv[2]", "/data/a.csv[5]", "/data/b.csv[2]"]
    assert rows(run, "trace", saved, "rows", "--at", 2) == rows(run, "trace", saved, "rows", "--output", 2)
    assert len(rows(run, "trace", saved, "rows")) == 10
    assert [r["rid"] for r in rows(run, "trace", saved, "rows", "--row", "/data/b.csv:2")] == [2]
    assert [r["rid"] for r in rows(run, "trace", saved, "rows", "--row", "b.csv:2", "--to", "Aggregate")] == [2]
    assert [r["record"] for r in rows(run, "trace", saved, "rows", "--source", "orders", "--at", 0, "--forward")] == ["Row(k='a', n=1)"]
    assert [r["rid"] for r in rows(run, "trace", saved, "rows", "--output", 0, "--to", "#1")] == [0, 3, (1 << 40), (1 << 40) + 3]
    _, out, _ = run("trace", saved, "rows", "--output", 0)
    assert f"{(1 << 40) + 3}" in out


@pytest.mark.parametrize("words", [("--at", 0, "--output", 2), ("--row", "b.csv:2", "--at", 0), ("--row", "b.csv:2", "--line", "b.csv:2")])
def test_a_trace_begins_at_one_place(run: Said, saved: Path, words: tuple[object, ...]) -> None:
    code, out, err = run("trace", saved, "rows", *words)
    assert (code, out) == (2, "")
    assert "not allowed with" in err
    code, out, err = run("trace", saved, "rows", "--row", "b.csv:2", "--source", "orders")
    assert (code, out) == (1, "")
    assert "Leave out --source" in err


def test_operators_are_found_by_what_they_are_called(saved: Path) -> None:
    known = bigdebug.open(saved).runs[0]
    sources = [Operator(n, "textFile", Kind.SOURCE, Form.SOURCE, (), 2, None, "lineitem") for n in (1, 2, 3)]
    run_ = replace(known, frame=False, sources={}, graph=OperatorGraph([*sources, Operator(4, "Aggregate", Kind.AGGREGATOR, Form.CODES, (1, 2, 3), 2, None)], [4]))
    assert list(run_.input_names().values()) == ["lineitem", "lineitem#2", "lineitem#3"]
    said = {"lineitem#2": 2, "lineitem#3": 3, "lineitem": 1, "textFile#3": 3, "Aggregate#4": 4, "#2": 2, "3": 3, "lineitem#1": 1, "Aggregate": 4}
    assert {text: operator_of(run_, text) for text in said} == said
    for wrong in ("Aggregate#3", "orders#3", "textFile", "textFile#9", "9"):
        with pytest.raises(UnknownOperatorError):
            operator_of(run_, wrong)


def test_check_ends_with_1_if_something_is_wrong(run: Said, saved: Path) -> None:
    assert run("check", saved)[0] == 0
    (saved / "outputs" / "r1").write_bytes(b"x")
    (saved / "mine.txt").write_text("mine")
    code, out, _ = run("check", saved, "--json")
    assert code == 1
    assert [tuple(row.values()) for row in json.loads(out)["rows"]] == [("mine.txt", "foreign"), ("outputs/r1", "truncated")]


def test_exports(run: Said, saved: Path, tmp_path: Path) -> None:
    assert rows(run, "export", saved, "rows", tmp_path / "x.parquet")[0]["associations"] == 10
    table = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert [(row["made_rid"], row["origin"]) for row in table if row["made_rid"] == 2] == [(2, "/data/a.csv[2]"), (2, "/data/a.csv[5]"), (2, "/data/b.csv[2]")]
    run("export", saved, "rows", tmp_path / "x.jsonl", "--form", "json")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == table
    run("export", saved, "rows", tmp_path / "triples.parquet", "--form", "triples")
    graph = bigdebug.provenance(tmp_path / "triples.parquet")
    assert sorted(graph.ancestors("Aggregate#2[2]").items.tolist()) == ["orders[1099511627778]", "orders[2]", "orders[5]"]
    code, _, err = run("export", saved, "rows", tmp_path / "x.parquet")
    assert code == 1
    assert "Name a new file" in err


def test_an_export_that_fails_leaves_nothing(run: Said, saved: Path, tmp_path: Path) -> None:
    array = next((saved / "lineage" / "r1").rglob("*back.values"))
    array.write_bytes(bytes([array.read_bytes()[0] ^ 1]) + array.read_bytes()[1:])
    (tmp_path / "to").mkdir()
    for form in ("parquet", "json", "triples"):
        code, _, err = run("export", saved, "rows", tmp_path / "to" / "x", "--form", form)
        assert code == 1
        assert "altered" in err
    assert list((tmp_path / "to").iterdir()) == []


@pytest.mark.parametrize("when", [1e18, -1e18, float("nan"), "soon"])
def test_a_time_that_is_none_stops_no_question(run: Said, saved: Path, when: object) -> None:
    rewritten(saved, lambda catalog: catalog.update(saved=when))
    assert len(rows(run, "runs", saved)) == 2
    [kept] = rows(run, "prune", saved.parent, "--older-than", "30d", "--dry-run")
    assert kept["what"] == ("would go" if when == -1e18 else "stays")


@pytest.mark.parametrize(("words", "code", "said"), [
    (("runs", "nowhere"), 1, "not a saved bigdebug session"), (("show", "DIR", "nothing"), 1, "'rows', 'records'"), (("trace", "DIR", "rows", "--output", "3"), 1, "numbered from 0"),
    (("trace", "DIR", "rows", "--at", "7"), 1, "no such record"), (("trace", "DIR", "rows", "--line", "b.csv:1"), 1, "read no lines"), (("trace", "DIR", "rows", "--row", "b.csv"), 1, "orders.csv:17"),
    (("trace", "DIR", "rows", "--row", "b.csv:4"), 1, "no row 4"), (("trace", "DIR", "rows", "--to", "x"), 1, "No operator"), (("trace", "DIR"), 2, "--help"),
    (("trace", "DIR", "rows", "--output", str(1 << 64)), 1, "so many records"), (("trace", "DIR", "rows", "--to", "9" * 5000), 1, "No operator"),
    (("trace", "DIR", "rows", "--row", f"b.csv:{'9' * 5000}"), 1, "no place in a file"), (("export", "DIR", "rows", ""), 1, "no name of a file"), (("export", "DIR", "rows", "/"), 1, "no name of a file"),
    (("export", "DIR", "rows", "x" * 300), 1, "cannot be written"), (("culprits", "DIR", "-n", "-1"), 2, "no number of rows"), (("datasets", "list", "-n", "-1"), 2, "no number of rows"),
    (("prune", "DIR"), 1, "saved session itself"), (("prune", "DIR/..", "--older-than", "soon"), 1, "no age"), (("prune", "DIR/..", "--larger-than", "big"), 1, "no size"), (("check", "nowhere"), 1, "cannot be read"),
])
def test_what_is_wrong_is_on_stderr_with_what_to_do(run: Said, saved: Path, words: tuple[str, ...], code: int, said: str) -> None:
    ended, out, err = run(*(word.replace("DIR", str(saved)) for word in words))
    assert (ended, out) == (code, "")
    assert said in err
    assert err.startswith("bigdebug")


def test_help_tells_of_each_word(run: Said) -> None:
    for name in WORDS:
        code, out, _ = run(name, "--help")
        assert code == 0
        assert "DIR" in out


def test_it_needs_no_spark(saved: Path) -> None:
    code = "import sys; from bigdebug.cli import main; code = main(sys.argv[1:]); assert not {'pyspark', 'IPython', 'ipywidgets'} & set(sys.modules); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code, "trace", str(saved), "rows", "--output", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("sent", "why"), [(">/dev/full", "No space left on device"), (">&-", "standard output is closed")])
@pytest.mark.parametrize("form", ["", "--json"])
def test_an_answer_that_cannot_be_written_is_said(saved: Path, sent: str, why: str, form: str) -> None:
    def asked(more: str) -> tuple[int, str]:
        command = f'"{sys.executable}" -m bigdebug.cli runs "{saved}" {form} {sent} {more}'
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
        return done.returncode, done.stderr

    assert asked("") == (74, f"bigdebug: the answer cannot be written: {why}\n")
    assert asked("2>&-") == asked("2>/dev/full") == (74, "")


def test_what_is_wrong_is_no_answer_where_nobody_can_be_told(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m bigdebug.cli runs "{tmp_path}" 2>&-'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stdout) == (1, "")
