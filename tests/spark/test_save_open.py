"""A saved session answers in a process that has no Spark what the live session answered, or says by name why not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import StoreError
from tests.spark.fresh import EACH, QUESTIONS, fresh

LINES = [f"k{i % 5} {i}" for i in range(40)]


def program(dbg: Any, path: Path) -> Any:
    names = dbg.context.parallelize([(f"k{i}", f"name {i}") for i in range(1, 7)], 2)
    pairs = dbg.context.textFile(str(path), 3).map(str.split).map(lambda words: (words[0], int(words[1])))
    return pairs.filter(lambda kv: kv[1] != 7).reduceByKey(add, 2).join(names, 2).mapValues(list)


@pytest.fixture(scope="module")
def live(dbg: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The result of a job with two inputs; ``path`` is the text that it read, ``saved`` where its session is saved."""
    folder = tmp_path_factory.mktemp("session")
    path = folder / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    result = program(dbg, path)
    with dbg.capture("first"):
        result.count()
    with dbg.capture("report") as run:
        result.collect()
    assert run.incomplete == ()
    result.path, result.run = path, run.runs[-1]
    result.saved = dbg.save(str(folder / "saved"))
    return result


def test_a_fresh_process_answers_as_the_live_session_does(live: Any) -> None:
    answer: dict[str, Any] = {}
    exec(QUESTIONS, {"trace": live.getLineage(), "answer": answer})
    assert fresh(live.saved, "trace = session.lineage('report')\n" + QUESTIONS) == json.loads(json.dumps(answer))
    assert len(answer["rids"]) == 4
    assert sorted(answer["inputs"]) == ["lines.txt", "parallelize"]
    # k2 misses its 7, and k0 has no name.
    assert sorted(map(len, answer["origins"])) == [8, 9, 9, 9]
    numbers = [i for i in range(40) if i % 5 and i != 7]
    assert [[record, line] for record, _, line in answer["lines"]] == [[LINES[i], i + 1] for i in numbers]


def test_a_fresh_process_knows_every_run_by_name_and_id(live: Any, dbg: Any) -> None:
    script = "answer = {'runs': [[r.id, r.name, r.action, r.began] for r in session.runs], 'latest': session.run('report').id}"
    answer = fresh(live.saved, script)
    assert answer["runs"] == [[run.id, run.name, run.action, run.began] for run in dbg.runs[: len(answer["runs"])]]
    assert answer["latest"] == live.run.id
    unknown = fresh(live.saved, "session.run('nothing')")
    assert unknown["error"] == "NotCapturedError"
    assert "'report'" in unknown["message"]


def test_stops_inside_a_stage_are_saved_once_they_were_asked_for(live: Any, dbg: Any, tmp_path: Path) -> None:
    inside = next(o for o in live.run.graph if o.name == "filter").parents[0]
    ask = f"answer['rids'] = session.lineage('report').back_to({inside}).rids().tolist()"
    refused = fresh(live.saved, ask)
    assert refused.get("error") == "IncompleteLineageError"
    assert "was not saved with the run. It is derived when a trace first stops there" in refused["message"]
    here = live.getLineage().back_to(inside).rids().tolist()
    again = dbg.save(str(tmp_path / "again"), [live.run])
    assert fresh(again, ask) == {"rids": here}
    assert here


def test_only_the_runs_that_were_asked_for_are_saved_with_all_they_need(live: Any, dbg: Any, tmp_path: Path) -> None:
    saved = dbg.save(str(tmp_path / "one"), [live.run])
    expected = live.getLineage().goBackAll().rids().tolist()
    script = "answer = [[r.name for r in session.runs], session.lineage('report').goBackAll().rids().tolist()]"
    assert fresh(saved, script) == [["report"], expected]


def test_a_saved_lazy_run_is_answered_or_refused_by_name(live: Any, dbg: Any, tmp_path: Path) -> None:
    result = program(dbg, live.path)
    with dbg.capture("lazy", strategy="lazy"):
        result.collect()
    script = "answer = session.lineage('lazy').goBackAll().rids().tolist()"
    early = fresh(dbg.save(str(tmp_path / "early"), [dbg.runs[-1]]), script)
    assert early["error"] == "IncompleteLineageError"
    assert "the saved run has counts only" in early["message"]
    assert 'ask that trace, then save; or capture with strategy="inject"' in early["message"]
    expected = result.getLineage().goBackAll().rids().tolist()
    assert fresh(dbg.save(str(tmp_path / "late"), [dbg.runs[-1]]), script) == expected


def test_lines_of_a_file_that_has_changed_are_refused_and_rids_still_answered(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")
    result = dbg.context.textFile(str(path), 1).map(str.upper)
    with dbg.capture("changing"):
        result.collect()
    saved = dbg.save(str(tmp_path / "saved"), [dbg.runs[-1]])
    assert fresh(saved, "answer = session.lineage('changing').goBackAll().collect()") == ["a", "b"]
    path.write_text("c\nd\ne\n")
    assert fresh(saved, "session.lineage('changing').goBackAll().collect()")["error"] == "SourceChangedError"
    assert fresh(saved, "answer = session.lineage('changing').goBackAll().rids().tolist()") == [0, 1]
    path.unlink()
    assert fresh(saved, "session.lineage('changing').goBackAll().collect()")["error"] == "SourceChangedError"


# ---- damage -------------------------------------------------------------------------------------------------------


def each_block(change: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(saved: Path) -> None:
        for path in sorted((saved / "blocks").rglob("*.block")):
            change(path)

    return damage


def in_blocks(saved: Path, to: Path) -> Path:
    """A copy in format 1, in which blocks are all that there is of lineage."""
    shutil.copytree(saved, to)
    catalog = json.loads((to / "session.json").read_text())
    for run in catalog["runs"]:
        for name in ("frame", "lineage", "unsaved", "outputs", "whole"):
            del run[name]
    (to / "session.json").write_text(json.dumps({"format": 1, "runs": catalog["runs"]}))
    (to / "seal.json").unlink()
    shutil.rmtree(to / "lineage")
    return to


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return each_block(lambda path: path.write_bytes(change(path.read_bytes())))


@pytest.mark.many
@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (rewritten(lambda data: data[:-3]), "CorruptBlockError", "truncated"),
        (rewritten(lambda data: data[:60] + bytes([data[60] ^ 8]) + data[61:]), "CorruptBlockError", "altered"),
        (rewritten(lambda data: b"no block"), "CorruptBlockError", "not a lineage block"),
        (rewritten(lambda data: data[:4] + b"\x63\x00" + data[6:]), "StoreVersionError", "format 99"),
        (each_block(Path.unlink), "IncompleteLineageError", "no lineage|Nothing was noted"),
        (lambda saved: shutil.rmtree(saved / "blocks"), "IncompleteLineageError", "no lineage|Nothing was noted"),
    ],
    ids=["truncated", "altered", "replaced", "newer", "missing", "no blocks"],
)
def test_damaged_blocks_are_an_error_in_a_fresh_process(
    live: Any, tmp_path: Path, damage: Any, error: str, message: str
) -> None:
    saved = in_blocks(live.saved, tmp_path / "copy")
    damage(saved)
    answer = fresh(saved, "answer = session.lineage('report').goBackAll().rids().tolist()")
    assert isinstance(answer, dict)
    assert answer["error"] == error
    assert any(part in answer["message"] for part in message.split("|"))


@pytest.mark.slow
def test_one_lost_block_spares_what_does_not_need_it_and_is_named_otherwise(live: Any, tmp_path: Path) -> None:
    saved = in_blocks(live.saved, tmp_path / "copy")
    whole = fresh(saved, EACH)
    assert not any(isinstance(behind, str) for behind in whole.values())
    answers = []
    for path in sorted((saved / "blocks").rglob("*.block")):
        data = path.read_bytes()
        path.unlink()
        answers.append(fresh(saved, EACH))
        path.write_bytes(data)
    for answer in answers:
        if "error" in answer:  # not even all the outputs are known
            assert answer["error"] == "IncompleteLineageError"
        else:
            assert all(behind in (whole[rid], "IncompleteLineageError") for rid, behind in answer.items())
    assert any(answer != whole for answer in answers)


CATALOGS = {
    "newer": (lambda text: text.replace('"format": 2', '"format": 3', 1), "StoreVersionError"),
    "cut": (lambda text: text[: len(text) // 2], "StoreError"),
    "a list": (lambda text: "[]", "StoreError"),
    "empty": (lambda text: "", "StoreError"),
    "without runs": (lambda text: '{"format": 1}', "StoreError"),
    "with a broken run": (lambda text: '{"format": 1, "runs": [{"id": "r1"}]}', "StoreError"),
    "with a strange format": (lambda text: text.replace('"format": 2', '"format": "one"', 1), "StoreError"),
    "with half a format": (lambda text: text.replace('"format": 2', '"format": 1.5', 1), "StoreError"),
    "of before the first format": (lambda text: text.replace('"format": 2', '"format": -1', 1), "StoreError"),
    "with true for a format": (lambda text: text.replace('"format": 2', '"format": true', 1), "StoreError"),
    "not UTF-8": (lambda text: b"\xff\xfe", "StoreError"),
}


@pytest.mark.parametrize("how", CATALOGS)
def test_a_session_that_cannot_be_read_is_refused_by_name(live: Any, tmp_path: Path, how: str) -> None:
    change, error = CATALOGS[how]
    saved = Path(shutil.copytree(live.saved, tmp_path / "copy"))
    changed = change((saved / "session.json").read_text())
    (saved / "session.json").write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    with pytest.raises(StoreError) as refused:
        bigdebug.open(str(saved))
    assert type(refused.value).__name__ == error


def test_a_directory_that_is_no_session_or_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StoreError, match="not a saved bigdebug session"):
            bigdebug.open(str(path))


# ---- where to -----------------------------------------------------------------------------------------------------


def test_saving_into_a_directory_with_something_in_it_is_refused_and_leaves_it_alone(dbg: Any, live: Any, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="not empty"):
        dbg.save(str(target), [live.run])
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "thesis.txt"]
    (target / "thesis.txt").unlink()
    assert dbg.save(str(target), [live.run]) == target
    assert fresh(target, "answer = session.lineage('report').rids().tolist()") == live.getLineage().rids().tolist()
    with pytest.raises(StoreError, match="not empty"):
        dbg.save(str(target), [live.run])


def test_saving_where_a_file_stands_is_refused(dbg: Any, live: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="cannot be saved"):
            dbg.save(str(target), [live.run])
    assert (tmp_path / "file").read_text() == "mine"


def test_saving_does_not_touch_what_lies_beside(dbg: Any, live: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.partial").mkdir()
    (tmp_path / "mine.partial" / "thesis.txt").write_text("years of work")
    dbg.save(str(tmp_path / "mine"), [live.run])
    assert (tmp_path / "mine.partial" / "thesis.txt").read_text() == "years of work"


def test_culprits_are_saved_as_text_and_lead_to_their_lines(dbg: Any, tmp_path: Path) -> None:
    lines = tmp_path / "numbers.txt"
    lines.write_text("".join("x\n" if n % 9 == 0 else f"{n}\n" for n in range(40)))
    parsed = dbg.context.textFile(str(lines), 3).map(lambda line: [line]).map(lambda words: int(words[0]))
    with pytest.raises(Exception, match="invalid literal"), dbg.capture("crash") as run:
        parsed.sum()
    assert [c.record for c in run.culprits] == [["x"]] * 5
    opened = bigdebug.open(str(dbg.save(str(tmp_path / "saved")))).run("crash")
    assert [(str(a.operator), a.partition, a.text()) for a in opened.culprits] == [(str(b.operator), b.partition, b.text()) for b in run.culprits]
    assert opened.culprits.table().text() == run.culprits.table().text()
    assert [c.sources[0].origin.line for c in opened.culprits] == [c.sources[0].origin.line for c in run.culprits]
    assert opened.culprits[0].user_line == run.culprits[0].user_line
    lines.write_text("")
    again = bigdebug.open(str(tmp_path / "saved")).run("crash")
    assert "from where is not known: An input of the saved run is no longer what it was" in again.culprits[0].text()


@pytest.mark.usefixtures("untold")
def test_culprits_that_were_not_looked_for_before_a_run_was_saved(dbg: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="division"), dbg.capture("unasked"):
        dbg.context.parallelize([1, 0], 2).map(lambda n: 1 // n).foreach(print)
    opened = bigdebug.open(str(dbg.save(str(tmp_path / "saved")))).run("unasked")
    assert repr(opened.culprits) == "<no culprits: Not all of them had been found when the run was saved.>"


def test_no_secret_of_a_culprit_is_saved(dbg: Any, tmp_path: Path) -> None:
    secret = "-".join(["sk", "abc"])  # which the line that makes it does not have
    with pytest.raises(Exception, match="invalid literal"), dbg.capture("secret"):
        dbg.context.parallelize(["1", secret], 2).map(lambda key: [key]).map(lambda keys: int(keys[0])).sum()
    dbg.mask = r"sk-\w+"  # only now: what is told of the crash had been text before
    try:
        saved = dbg.save(str(tmp_path / "saved"))
    finally:
        dbg.mask = None
    assert secret not in (saved / "session.json").read_text()
