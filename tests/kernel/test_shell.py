"""bigdebug in an IPython shell: its magics and names, what it displays, and that nothing of it is left behind."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from pyspark import SparkContext
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

import bigdebug
from bigdebug.graph import CallSite
from tests.kernel.shells import JOB, Shell
from tests.left import listeners

# ---- what is displayed -------------------------------------------------------------------------------------------


def test_sessions_runs_and_traces_display_as_tables_with_a_plain_twin(shell: Shell) -> None:
    shell.cell(JOB.format("displayed"))
    shell.cell("with dbg.capture('block') as capture: counts.count()")
    assert [row[:4] for row in shell.table("dbg")] == [
        ["r1", "displayed", "collect", "succeeded"], ["r2", "block", "count", "succeeded"],
    ]  # fmt: skip
    operators = ["parallelize", "flatMap", "map", "reduceByKey.combineByKey"]
    assert [row[1] for row in shell.table("dbg.runs[0]")] == operators
    assert [row[1] for row in shell.table("capture")] == operators
    assert [row[1] for row in shell.table("counts.getLineage().goBackAll()")] == ["'a b'", "'b c'", "'c'"]


def test_markup_in_names_of_runs_and_files_is_shown_as_text(shell: Shell, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>&amp;\x1b$x$"
    (tmp_path / evil).write_text("<b>\n")
    shell.user_ns.update(path=str(tmp_path / evil), evil=evil)
    shell.cell("with dbg.capture(evil): sc.textFile(path).count()")
    literally = evil.replace("\x1b", "\\x1b")
    assert shell.table("%lineage")[0][1] == literally
    assert shell.table("dbg.runs[0]")[0][4] == literally
    [(origin, record)] = shell.table("%lineage trace r1 goBackAll")
    assert origin.endswith(f"/{literally}:1")
    assert record == "'<b>'"


# ---- nothing is left behind --------------------------------------------------------------------------------------


def threads() -> list[str]:
    """The threads of bigdebug's, those that are about to end left out."""
    until = time.monotonic() + 5
    while time.monotonic() < until and any("bigdebug" in thread.name for thread in threading.enumerate()):
        time.sleep(0.02)
    return sorted(thread.name for thread in threading.enumerate() if "bigdebug" in thread.name)


def footprint(shell: Shell) -> dict[str, Any]:
    """All that loading the extension could change: in the shell, in Python, in PySpark."""
    transformers, spark = shell.input_transformer_manager, shell.user_ns["spark"]
    return {
        "names": {name: id(value) for name, value in shell.user_ns.items() if name[0] != "_"},
        "attributes": {name for name in vars(shell) if "bigdebug" in name},
        "callbacks": {event: list(callbacks) for event, callbacks in shell.events.callbacks.items()},
        "transforms": [list(transformers.cleanup_transforms), list(transformers.line_transforms)],
        "magics": {kind: set(magics) for kind, magics in shell.magics_manager.magics.items()},
        "classes of magics": set(shell.magics_manager.registry),
        "configurables": list(map(id, shell.configurables)),
        "completion": list(shell.Completer.custom_matchers),
        "importers": list(sys.meta_path),
        "display of exceptions": (shell.custom_exceptions, shell.CustomTB),
        "name of a cell's file": str(CallSite(shell.compile.cache("1"), 1)),
        "threads": threads(),
        "interruptions": signal.getsignal(signal.SIGINT),
        "listeners of jobs": listeners(spark),
        "listeners of queries": len(spark._jsparkSession.listenerManager().listListeners()),
        "SparkSession()": SparkSession.__init__,
        "df.rdd": vars(DataFrame)["rdd"],
        "spark.sparkContext": id(spark.sparkContext),
        "SparkContext.getOrCreate()": id(SparkContext.getOrCreate()),
    }


@pytest.mark.many
@pytest.mark.parametrize("cells", [
    ["%load_ext bigdebug", "%load_ext bigdebug"],
    ["%load_ext bigdebug", "%unload_ext bigdebug", "%load_ext bigdebug"],
    ["%load_ext bigdebug", "%reload_ext bigdebug", "%reload_ext bigdebug"],
    ["%load_ext bigdebug", "%lineage on", "%%lineage\nsc.parallelize([1]).count()"],
    ["%load_ext bigdebug", "%%lineage\n%unload_ext bigdebug"],
    ["%load_ext bigdebug", "n = sc.parallelize([1, 2]); n.count()\nw = dbg.watch(n, lambda r: r > 1)\nn.count()", "%lineage watch w", "%lineage trace?"],
], ids=["loaded twice", "loaded again", "reloaded", "capturing", "within a cell that captures", "watching"])  # fmt: skip
def test_unload_ext_leaves_nothing_behind(bare: Shell, cells: list[str]) -> None:
    before = footprint(bare)
    for cell in cells:
        bare.cell(cell)
    bare.cell("%unload_ext bigdebug")
    for name in {"n", "w"} - before["names"].keys():
        bare.user_ns.pop(name, None)
    assert footprint(bare) == before
    assert not bare.capturing


def test_load_ext_names_the_context_sc_and_the_session_dbg_and_does_so_once(shell: Shell, spark: Any) -> None:
    assert isinstance(shell.user_ns["sc"], bigdebug.LineageContext)
    assert shell.user_ns["sc"] is spark.sparkContext
    assert shell.user_ns["dbg"] is bigdebug.attach(spark)
    once = footprint(shell)
    shell.cell("%load_ext bigdebug")
    bigdebug.load_ipython_extension(shell)
    assert footprint(shell) == once


def test_a_variable_keeps_its_lineage_when_the_extension_is_reloaded(shell: Shell) -> None:
    shell.cell(JOB.format("before"))
    trace = shell.table("%lineage trace counts goBackAll")
    shell.cell("%reload_ext bigdebug")
    assert shell.table("%lineage trace counts goBackAll") == trace
    shell.cell("%%lineage after\nsc.parallelize([1]).count()")
    assert shell.runs[-1] == "after"


# ---- the user's names --------------------------------------------------------------------------------------------


def test_names_that_are_taken_stay_as_they_are(bare: Shell) -> None:
    bare.cell("sc, dbg = 'scale', 'Deutsche Bahn'")
    for cell in ("%load_ext bigdebug", "1", "%unload_ext bigdebug"):
        bare.cell(cell)
        assert (bare.user_ns["sc"], bare.user_ns["dbg"]) == ("scale", "Deutsche Bahn")


@pytest.mark.many
@pytest.mark.parametrize("cell", ["sc = 3", "from math import pi as sc", "def sc(): ..."])
def test_what_the_user_calls_sc_later_is_the_users(shell: Shell, cell: str) -> None:
    shell.cell(cell)
    mine = shell.user_ns["sc"]
    for cell in ("1", "%reload_ext bigdebug", "%unload_ext bigdebug"):
        shell.cell(cell)
        assert shell.user_ns["sc"] is mine


def test_the_users_plain_context_captures_while_bigdebug_is_loaded_and_is_given_back(bare: Shell, spark: Any) -> None:
    plain = spark.sparkContext
    for cell in ("context = spark.sparkContext", "%load_ext bigdebug", "sc = spark.sparkContext"):
        bare.cell(cell)
    bare.cell("%%lineage\nrdd = context.parallelize([7]); rdd.count()")
    assert [record for _, record in bare.table("%lineage trace rdd")] == ["7"]
    bare.cell("%unload_ext bigdebug")
    assert bare.user_ns["context"] is plain
    assert bare.user_ns["sc"] is plain
    assert "dbg" not in bare.user_ns


# ---- %%lineage ---------------------------------------------------------------------------------------------------


def test_a_cell_under_lineage_gives_its_value_and_a_run_for_each_action(shell: Shell, capsys: Any) -> None:
    assert shell.cell(JOB.format("'word counts'")) == [("a", 1), ("b", 2), ("c", 2)]
    assert "word counts: collect succeeded, 3 records in, 3 out" in capsys.readouterr().out
    assert shell.cell("%%lineage\nimport asyncio\nlines.count(); await asyncio.sleep(0, lines.count())") == 3
    shell.cell("lines.count()")
    assert shell.runs == ["word counts", "count", "count"]


def test_lineage_goes_with_other_cell_magics(shell: Shell) -> None:
    for magics in ("%%lineage one\n%%time", "%%time\n%%lineage two", "%%capture\n%%lineage three"):
        shell.cell(f"{magics}\nsc.parallelize([1]).count()")
        assert not shell.capturing
    assert shell.runs == ["one", "two", "three"]


def test_strategy_lazy_stores_less_and_answers_the_same(shell: Shell) -> None:
    traces = {}
    for strategy in ("inject", "lazy"):
        shell.cell(JOB.format(f"{strategy}-run --strategy {strategy}"))
        traces[strategy] = shell.table(f"%lineage trace {strategy}-run --where 'r[0] == \"b\"' goBackAll")
    assert traces["lazy"] == traces["inject"] == [["parallelize[0]", "'a b'"], ["parallelize[1]", "'b c'"]]
    assert shell.cell("dbg.runs[1].statistics.bytes < dbg.runs[0].statistics.bytes")


@pytest.mark.many
@pytest.mark.parametrize(("line", "error", "status"), [
    ("1 / 0", ZeroDivisionError, "succeeded"),
    ("raise KeyboardInterrupt", KeyboardInterrupt, "succeeded"),
    ("sc.parallelize([0]).map(lambda n: 1 / n).collect()", PythonException, "failed"),
])  # fmt: skip
def test_a_cell_that_raises_keeps_its_exception_and_ends_capture(
    shell: Shell, line: str, error: type, status: str
) -> None:
    raised = shell.failure(f"%%lineage boom\nn = sc.parallelize([1]).count()\n{line}")
    assert isinstance(raised, error)
    assert next(f.lineno for f in traceback.extract_tb(raised.__traceback__) if "ipython-input" in f.filename) == 3
    assert shell.table("%lineage")[-1][1:4:2] == ["boom", status]
    assert isinstance(shell.failure(f"%%lineage typo\nsc.parallelize([1]).count()\n{line} = = 1"), SyntaxError)
    assert shell.runs[-1] == "boom"
    assert not shell.capturing


# ---- %lineage ----------------------------------------------------------------------------------------------------


def test_lineage_on_captures_the_cells_that_follow_until_off(shell: Shell) -> None:
    for cell in ("%lineage on", "sc.parallelize([1]).count()", "%lineage off", "sc.parallelize([1]).collect()"):
        shell.cell(cell)
    assert shell.runs == ["count"]


def test_lineage_trace_goes_from_a_run_or_a_variable_where_it_is_told(shell: Shell) -> None:
    shell.cell(JOB.format("traced"))
    shell.cell("wanted = 'a'\ndef is_c(r): return r == 'c'")
    for asked, records in {
        "counts": ["('a', 1)", "('b', 2)", "('c', 2)"],
        "traced goBackAll": ["'a b'", "'b c'", "'c'"],
        "counts --where 'r[0] == \"a\"' goBack": ["'a b'"],
        'counts goBack --where "lambda r: r[0] == wanted" goNext': ["('a', 1)", "('b', 2)"],
        "lines --where is_c next": ["('c', 2)"],
        "counts -n 2 goBackAll": ["'a b'", "'b c'"],
    }.items():
        assert sorted(record for _, record in shell.table(f"%lineage trace {asked}")) == records, asked


def test_lineage_trace_of_a_dataframe_takes_sql_functions_and_the_name_of_an_input(totals: Shell) -> None:
    totals.cell("def is_ann(r): return r.who == 'ann'")
    totals.cell("bad = totals.getLineage().where('total > 100')")
    for asked in (
        'totals --where "total > 100"', "spent --where \"who = 'ann' and total > 100\"", "totals --where r.total>100",
        "totals --where is_ann", "totals --where 'lambda row: row[1] > 100'", "bad",
    ):
        assert totals.table(f"%lineage trace {asked}") == [["'ann'", "905"]], asked
        sales = totals.table(f"%lineage trace {asked} goBackAll sales")
        assert [row[1:] for row in sales] == [["1", "5"], ["1", "900"]], asked
        assert [row[0].rpartition(".parquet")[2] for row in sales] == ["[0]", "[1]"], asked
    assert totals.table("%lineage trace bad goBackAll") == [["sales", "2"], ["people", "1"]]
    assert sorted(totals.table("%lineage trace totals goBackAll people goNextAll")) == [["'ann'", "905"], ["'bob'", "15"]]


def test_bad_questions_about_a_dataframe_are_answered_in_a_sentence(totals: Shell, capsys: Any) -> None:
    for asked, says in {
        "--where 'totl > 3'": "There is no such column here (got 'totl'). The columns are who, total.",
        "--where 'r.totl > 3'": "raised PySparkAttributeError",
        "goBackAll sails": "a step is one of back, next, goBack, goNext, goBackAll, goNextAll, or after goBackAll one of the inputs sales, people; not 'sails'",
        "sales": "or after goBackAll one of the inputs sales, people; not 'sales'",
    }.items():
        capsys.readouterr()
        assert isinstance(totals.failure(f"%lineage trace totals {asked}"), UsageError), asked
        said = capsys.readouterr()
        assert says in said.err, asked
        assert "Traceback" not in said.out, asked


def test_bad_usage_is_answered_in_a_sentence_and_without_a_traceback(shell: Shell, capsys: Any) -> None:
    shell.cell(JOB.format("known"))
    for cell, says in {
        "%lineage trace nothing": "'nothing' is neither a run nor a variable with lineage; runs: known",
        "%lineage trace counts sideways": "a step is one of back, next",
        "%lineage trace counts --where 'r['": "--where r[: ",
        "%lineage trace counts --where 'True'": "is the same for every record",
        "%lineage trace counts --where 'r.foo'": "<--where lambda r: (r.foo)>:1 raised AttributeError: 'tuple' object has no",
        "%lineage trace counts --where nowhere": "--where nowhere: NameError: name 'nowhere' is not defined",
        "%lineage trace 'counts": "No closing quotation",
        "%lineage erase": "%lineage knows on, off, trace, culprits, localize, explain, mine, replay, compare, clean, brush, watch, datasets, not erase; see %lineage?",
        "%lineage watch": "no watch is on; w = dbg.watch(rdd, lambda record: ...) begins one",
        "%lineage watch counts": "'counts' is no variable with a watch",
        "%lineage trace": "%lineage trace needs NAME; see %lineage trace?; runs: known",
        "%lineage trace counts -n -5": "%lineage trace: argument -n: a number of records from 1, not '-5'; see %lineage trace?",
        "%lineage trace counts -n many": "a number of records from 1, not 'many'",
        "%%lineage --foo\n1": "%%lineage: unrecognized arguments: --foo; see %%lineage?",
        "%%lineage --strategy best\n1": "invalid choice: 'best'",
        "%%lineage\n%lineage off": "this cell is under %%lineage",
    }.items():
        capsys.readouterr()
        assert isinstance(shell.failure(cell), UsageError), cell
        said = capsys.readouterr()
        assert said.err.startswith("UsageError: ")
        assert says in said.err
        assert said.err.count("\n") == 1
        assert "Traceback" not in said.out + said.err


def test_tab_offers_commands_runs_variables_steps_and_strategies(shell: Shell) -> None:
    shell.cell(JOB.format("tabbed"))
    for line, offers in {
        "%lineage t": {"trace"},
        "%lineage trace ": {"tabbed", "counts", "lines"},
        "%lineage trace tabbed goB": {"goBack", "goBackAll"},
        "%%lineage --strategy l": {"lazy"},
    }.items():
        with provisionalcompleter():
            assert {found.text for found in shell.Completer.completions(line, len(line))} == offers, line


def test_a_watch_is_shown_as_it_is_now_where_output_stays(shell: Shell) -> None:
    shell.cell("watched = sc.parallelize(range(8), 2).map(str)\nw = dbg.watch(watched, lambda text: text > '6')")
    shell.cell("watched.count()")
    assert [row[0] for row in shell.table("%lineage watch w")] == ["'7'"]
    assert [row[0] for row in shell.table("%lineage watch")] == ["'7'"]
    with provisionalcompleter():
        assert "w" in {completion.text for completion in shell.Completer.completions("%lineage watch ", 15)}
    shell.cell("w.stop()")
