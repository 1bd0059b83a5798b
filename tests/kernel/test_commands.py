"""What %lineage answers: the same as the session, in the words of a cell; and what it says to a question that has no answer."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from pyspark.sql import Row

from bigdebug.errors import SourceChangedError
from bigdebug_kernel.commands import COMMANDS
from bigdebug_kernel.commands.command import Command
from tests.kernel.shells import Shell

LINES = [f"{n % 5},{n}" for n in range(40)] + ["3,-5000"]

REPORT = f"""%%lineage report
lines = sc.parallelize({LINES!r}, 4)
def pair(line):
    key, number = line.split(",")
    return int(key), int(number)
sums = lines.map(pair).reduceByKey(lambda a, b: a + b, 2)
sums.collect()"""

CRASH = """%%lineage broken
broken = sc.parallelize(["1", "2", "x", "4", "y"], 2).map(lambda text: 12 // int(text))
broken.collect()"""


def sums_of(lines: list[str]) -> set[tuple[int, int]]:
    """What the program gives on some of its lines: the oracle."""
    found: Counter[int] = Counter()
    for line in lines:
        key, number = map(int, line.split(","))
        found[key] += number
    return set(found.items())


def records(fault: Any) -> list[Any]:
    return [each.record for each in fault.records]


@pytest.fixture
def report(shell: Shell) -> Shell:
    """A shell where an RDD program has run: ``sums`` of ``lines``, one of them corrupt."""
    shell.cell(REPORT)
    return shell


# ---- RDD programs ------------------------------------------------------------------------------------------------


def test_localize_names_the_record_whatever_way_it_is_asked(report: Shell) -> None:
    report.cell("def negative(r): return r[1] < 0")
    report.user_ns["right"] = list(sums_of(LINES[:-1]))
    for asked in (
        '"r[1] < 0"', "negative", "'lambda r: r[1] < 0'", "checks.at_least(0) --seconds 60", "--whole 'min(r[1] for r in rs) < 0'", '--expected right --key "r[0]"',
        "'r[1] < 100' --where 'r[0] == 3'",
    ):
        found = report.cell(f"found = %lineage localize sums {asked}\nfound")
        assert [records(fault) for fault in found.fault_sets] == [["3,-5000"]], asked
        assert found.verdict == "culprit", asked
    assert report.table("found")[0][2] == "'3,-5000'"
    assert report.cell("%lineage localize sums negative --tests 0").incomplete == "its 0 tests were spent"


def test_what_was_found_is_explained_replayed_compared_and_cleaned(report: Shell) -> None:
    report.cell("found = %lineage localize sums 'r[1] < 0'")
    assert "-5000" in report.cell("%lineage explain found --among sums").best
    report.cell("suspects = dbg.lineage(sums).goBackAll().where(lambda line: '-' in line)")
    before, right = sums_of(LINES), sums_of(LINES[:-1])

    without = report.cell("%lineage replay suspects --exclude")
    assert (set(without.removed), set(without.added)) == (before - right, right - before)
    edited = report.cell("%lineage replay suspects --exclude --edit \"r.replace('-5000', '50')\"")
    assert set(edited.added) == sums_of([*LINES[:-1], "3,50"]) - before
    alone = report.cell("%lineage replay report --where 'r[1] < 0'")
    assert (alone.added, alone.removed, alone.kept) == ((), (), 1)
    none = [line for line in LINES if not line.startswith("3,")]
    for at in ("", "--at lines", "--at parallelize", "--at map"):
        assert set(report.cell(f"%lineage replay sums --where 'r[1] < 0' --exclude {at}").removed) == before - sums_of(none), at

    cleaned = report.cell("cleaned = %lineage clean sums --quality r[1] --enough 0\ncleaned")
    assert ([each.record for each in cleaned.removed], set(cleaned.outputs)) == (["3,-5000"], right)
    for key in ("", "--key 0", "--key r[0]"):
        [change] = report.cell(f"%lineage compare sums cleaned {key}").changes
        assert ({*change.before}, {*change.after}) == (before - right, right - before)
        assert [each.record for each in change.inputs.gone] == ["3,-5000"]


def test_mine_takes_bad_outputs_by_condition_by_key_and_as_a_trace(report: Shell) -> None:
    report.cell("wanted = [3]\nbad = dbg.lineage(sums).where(lambda r: r[1] < 0)")
    for asked in ("'r[1] < 0'", "wanted", "bad"):
        mined = report.cell(f"%lineage mine sums --bad {asked}")
        assert (mined.bad, mined.good) == (1, 4), asked
    assert report.cell("%lineage mine report").bad == 0


def test_culprits_are_all_found_explained_and_localized(shell: Shell) -> None:
    shell.failure(CRASH)
    for asked in ("", "broken", "r1"):
        assert [each.record for each in shell.cell(f"%lineage culprits {asked}")] == ["x", "y"], asked
    assert [(row[0], row[4]) for row in shell.table("%lineage culprits")] == [("2", "'x'")]
    found = shell.cell("%lineage localize broken --raises")
    assert {record for fault in found.fault_sets for record in records(fault)} == {"x", "y"}
    assert shell.cell("%lineage explain broken").separations


@pytest.mark.usefixtures("uncollected")
def test_an_interruption_of_localize_gives_what_is_known_by_then(report: Shell, tmp_path: Path) -> None:
    called = tmp_path / "called"
    called.touch()
    report.user_ns["path"] = str(called)
    report.cell("""
import time
def slow(r):
    with open(path, "a") as file:
        file.write(".")
    time.sleep(0.3)
    return r[1] < 0
""")

    def interrupt() -> None:
        while called.stat().st_size < 9:  # of 5 outputs and some 25 tests: it is on its way
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    found = report.cell("%lineage localize sums slow")
    thread.join()
    assert found.incomplete == "it was interrupted"
    assert called.stat().st_size < 20
    assert report.cell("%lineage localize sums 'r[1] < 0'").incomplete is None


# ---- DataFrames --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_query_is_localized_mined_replayed_and_cleaned_in_sql(totals: Shell) -> None:
    for test in ("checks.at_most(100)", "'total > 100' --where \"who = 'ann'\""):
        found = totals.cell(f"found = %lineage localize totals {test}\nfound")
        assert [records(fault) for fault in found.fault_sets] == [[Row(person=1, amount=900)]], test
    assert totals.cell("%lineage mine totals --bad 'total > 100'").bad == 1
    assert totals.cell("%lineage explain found --among spent").separations
    without = totals.cell("%lineage replay totals --where 'total > 100' --exclude")
    assert (without.removed, without.added) == ((Row(who="ann", total=905),), ())
    cleaned = totals.cell("cleaned = %lineage clean totals --quality=-total --enough -100\ncleaned")
    assert ([each.record for each in cleaned.removed], set(cleaned.outputs)) == ([Row(person=1, amount=900)], {("ann", 5), ("bob", 15)})
    [change] = totals.cell("%lineage compare totals cleaned --key who").changes
    assert (change.before, change.after) == ((Row(who="ann", total=905),), (Row(who="ann", total=5),))


def test_a_name_that_is_a_column_and_a_variable_is_refused(totals: Shell, capsys: Any) -> None:
    totals.cell("def total(row): return False\nfrom pyspark.sql import functions as F\nlarge = F.col('total') > 100")
    assert isinstance(totals.failure("%lineage trace totals --where total"), UsageError)
    assert "--where total is a column of the rows and a variable of this notebook: write r.total, or total = true" in capsys.readouterr().err
    assert totals.table("%lineage trace totals --where large") == [["'ann'", "905"]]


# ---- usage -------------------------------------------------------------------------------------------------------


def test_a_question_without_an_answer_is_told_in_a_sentence(report: Shell, capsys: Any) -> None:
    report.cell("empty, text = [], 'abc'")
    for asked, says in {
        "localize": "%lineage localize needs NAME; see %lineage localize?; runs: report",
        "localize sums": "takes one of TEST, --whole and --expected, or --raises; not none of them",
        "localize sums 'r[1] < 0' --expected empty": "not a TEST and --expected",
        "localize sums 'r[1] < 0' --key 0": "--key goes with --expected",
        "localize sums r[1] < 0": "unrecognized arguments: < 0; what has blanks in it stands in quotation marks; see %lineage localize?",
        "localize sums 'r[1] > 1e9'": "The test finds nothing wrong with any of the 5 outputs",
        "localize sums 'r.foo'": "raised AttributeError: 'tuple' object has no attribute 'foo'",
        "localize sums checks.at_mots(3)": "TEST checks.at_mots(3): AttributeError: ",
        "localize sums 'r[1] < 0' --seconds soon": "argument --seconds: a number, not 'soon'",
        "localize sums --expected nowhere": "'nowhere' is no variable of this notebook; what the outputs were to be is wanted",
        "localize text 'r < 0'": "'text' is neither a run nor a variable with lineage; runs: report",
        "explain report": "no record crashed in report, so there is none to explain",
        "explain text": "'text' is neither a run nor",
        "culprits": "no run has crashed; runs: report",
        "replay sums --at reduce": "'reduce' is no operator of report; it has parallelize#",
        "replay sums --edit 3": "--edit 3 is the same for every record",
        "compare sums": "%lineage compare needs AFTER",
        "clean sums": "%lineage clean needs --quality",
        "clean sums --quality r[1] --suspects best": "invalid choice: 'best'",
        "clean sums --quality nowhere": "--quality nowhere: NameError",
        "mine sums --bad 'r['": "--bad r[: ",
        "mine sums --bad 'r[1] > 1e9'": "bad",
        "on now": "%lineage on: unrecognized arguments: now",
    }.items():
        capsys.readouterr()
        assert isinstance(report.failure(f"%lineage {asked}"), UsageError), asked
        said = capsys.readouterr()
        assert said.err.startswith("UsageError: "), asked
        assert says in said.err, (asked, said.err)
        assert said.err.count("\n") == 1, (asked, said.err)
        assert "Traceback" not in said.out + said.err, asked


class Refusing(Command):
    """Refuse."""

    name = "refuse"

    def answer(self, given: Any, asking: Any) -> Any:
        raise SourceChangedError("This file has changed", value="a\x1b.csv", remedy="Run the job again.")


def test_what_cannot_be_answered_is_refused_in_a_sentence_and_by_name_for_who_looks_closer() -> None:
    asking: Any = None
    with pytest.raises(UsageError, match=r"^This file has changed \(got 'a\\x1b.csv'\)\. Run the job again\.$") as refused:
        Refusing().asked("", asking)
    assert isinstance(refused.value.__cause__, SourceChangedError)


def test_each_command_says_what_it_takes(shell: Shell, capsys: Any) -> None:
    shell.cell("%lineage --help")
    overview = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"%lineage {name}" in overview
        said = []
        for asked in (f"%lineage {name} --help", f"%lineage {name}?", f"\n%lineage {name} ??"):
            shell.cell(asked)
            said.append(capsys.readouterr().out)
        assert said[0].startswith(f"usage: %lineage {name}"), name
        assert said[0] == said[1] == said[2]
        assert command.summary in said[0]
    assert shell.cell("text = '''\n%lineage trace?\n'''\ntext") == "\n%lineage trace?\n"


def test_tab_offers_what_fits(report: Shell) -> None:
    report.cell("found = %lineage localize sums 'r[1] < 0' --tests 0\ntwo = 2\ndef odd(r): return r[1] % 2")
    report.cell("with dbg.capture('of two words'): sums.count()\nkeys = sums.keys()")
    lineage = {"report", '"of two words"', "lines", "sums", "keys"}
    for line, offers in {
        "%lineage loc": {"localize"},
        "x = %lineage lo": {"localize"},
        "%lineage localize ": lineage,
        "%lineage localize sums o": {"odd"},
        "%lineage localize sums odd --": {"--where", "--whole", "--expected", "--key", "--raises", "--seconds", "--tests"},
        "%lineage localize sums --raises --seconds 3 --t": {"--tests"},
        '%lineage localize sums "r[1] < 0" --where ': set(),
        "%lineage explain f": {"found"},
        "%lineage explain found --among s": {"sums"},
        "%lineage clean sums --suspects ": {"localize", "lineage"},
        "%lineage compare sums ke": {"keys"},
        "%lineage compare sums keys --": {"--key"},
        "%lineage nothing ": set(),
        "%%lineage --on-crash repair --with o": {"odd"},
    }.items():
        with provisionalcompleter():
            found = {each.text for each in report.Completer.completions(line, len(line)) if each.type != "path"}
        assert found == offers if offers else not found & lineage, line
