"""Questions about saved sessions: ``bigdebug trace DIR RUN --output 3``. What they ask is imported when it is asked."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigdebug.cli.question import Question, rows_at_most
from bigdebug.datasets.answers import Answer
from bigdebug.errors import BigdebugError, StoreError, UnknownOperatorError, UnknownRecordError
from bigdebug.shown import counted, shown

if TYPE_CHECKING:
    from bigdebug.trace.saved.retention import Kept
    from bigdebug.trace.saved.runs import SavedRun
    from bigdebug.trace.saved.session import SavedSession
    from bigdebug.trace.saved.trace import SavedTrace

SAVED = "DIR is what dbg.save(DIR) wrote; nothing in it is run. RUN is the name of a run, or its id."

_DIR = (("dir",), {"type": Path, "metavar": "DIR", "help": "a saved session"})
_RUN = (("run",), {"metavar": "RUN", "help": "a run of it, by name or id"})
_LIMIT = (("-n", "--limit"), {"type": rows_at_most, "default": 100, "metavar": "N", "help": "so many rows at most (100)"})


_FAILED = "could not be removed"
_DIGITS = 20
"""Of numbers that are asked for, fewer."""


class _Rid(int):
    """A record id, which people copy: without commas between its digits."""

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec.replace(",", ""))


def _opened(given: argparse.Namespace) -> SavedSession:
    from bigdebug.trace.saved.session import open_session

    return open_session(given.dir)


def _runs(given: argparse.Namespace) -> Answer:
    session = _opened(given)
    rows = tuple(
        (run.id, run.name, run.action, run.status, _known(run.statistics.records_in), _known(run.statistics.records_out),
         None if run.associated is None else run.associated.pairs, None if run.associated is None else run.associated.bytes,
         None if run.outputs is None else run.outputs.count, len(run.culprits.known))
        for run in session.runs
    )
    columns = ("run", "name", "action", "status", "records in", "records out", "associations", "bytes", "outputs saved", "culprits")
    return Answer(f"Saved session {session.path}{_when(session)}", columns, rows, tuple(session.runs_table().notes))


def _when(session: SavedSession) -> str:
    when = _time(session.saved)
    return "" if when is None else f", saved {when:%Y-%m-%d %H:%M:%S} UTC"


def _time(seconds: Any) -> datetime | None:
    """A time that a catalog tells; None for what is none."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _known(count: int) -> int | None:
    return count if count >= 0 else None


def _show(given: argparse.Namespace) -> Answer:
    """The operators of a run, or its outputs."""
    session = _opened(given)
    run = session.run(given.run)
    if given.outputs:
        return _listed(run, session.lineage(run), given.limit, f"The outputs of {run.name}")
    rows = tuple(
        (o.id, o.name, o.kind.value, tuple(o.parents), run.statistics.records.get(o.id), o.dataset or "", str(o.call_site or ""))
        for o in run.graph if "internal" not in o.detail
    )
    notes = (run.summary(), *run.incomplete, *([run.unsaved] if run.unsaved else []))
    return Answer(f"Run {run.id}, {run.name}", ("operator", "name", "kind", "of", "records", "dataset", "defined at"), rows, notes)


def _trace(given: argparse.Namespace) -> Answer:
    session = _opened(given)
    run = session.run(given.run)
    trace, ahead = _start(session, run, given)
    if given.to is not None:
        operator = _operator(run, given.to)
        trace = trace.forward_to(operator) if ahead else trace.back_to(operator)
    else:
        trace = trace.goNextAll() if ahead else trace.goBackAll()
    title = f"{run.name}: {'what was made of them' if ahead else 'what they were made of'}, {counted(trace.count())}"
    return _listed(run, trace, given.limit, title)


def _start(session: SavedSession, run: SavedRun, given: argparse.Namespace) -> tuple[SavedTrace, bool]:
    """The trace over the records that are meant, and whether it is to go ahead: at a line or a row there is no way back."""
    from bigdebug.trace.saved.places import standing_in

    if given.source is not None and (given.line is not None or given.row is not None):
        raise UnknownOperatorError("A line or a row of a file says itself where to begin", value=given.source, remedy="Leave out --source.")
    if given.line is not None:
        path, number = _placed(given.line)
        return standing_in(run, path, line=number), True
    if given.row is not None:
        path, number = _placed(given.row)
        return standing_in(run, path, row=number), True
    trace = session.lineage(run, None if given.source is None else _operator(run, given.source))
    if given.at:
        trace = trace.at(given.at)
    elif given.output:
        trace = trace.numbered(given.output)
    return trace, bool(given.forward)


def _placed(text: str) -> tuple[str, int]:
    path, colon, number = text.rpartition(":")
    if not colon or not path or _number(number) is None:
        raise UnknownRecordError("This is no place in a file", value=text, remedy="Say orders.csv:17.")
    return path, int(number)


def _number(text: str) -> int | None:
    """The number that a text is; None for what is none, or longer than any that a record or an operator has."""
    return int(text) if text.isdecimal() and len(text) < _DIGITS else None


def _operator(run: SavedRun, given: str) -> int:
    """The operator of this id, or of this name as an input, or of its name and id; or the only one of this name, or that reads the dataset of this name."""
    name, _, number = given.rpartition("#")
    given_id = _number(number)
    if given_id is not None and not name:
        return run.graph[given_id].id
    inputs = [operator for operator, known in run.input_names().items() if known == given]
    if len(inputs) == 1:
        return inputs[0]
    if given_id is not None and given_id in run.graph and name in ((one := run.graph[given_id]).name, one.dataset):
        return one.id
    found = [o.id for o in run.graph if given in (o.name, o.dataset)]
    if len(found) != 1:
        raise UnknownOperatorError(
            "Several operators are called so" if found else "No operator is called so", value=given, remedy=f"bigdebug show DIR {run.id} lists them; give the id.",
        )
    return found[0]


def _listed(run: SavedRun, trace: SavedTrace, limit: int, title: str) -> Answer:
    """Records, those of each operator behind one another: where each stands, where it came from, and itself if it can be read."""
    datasets = run.datasets()
    rows: list[tuple[Any, ...]] = []
    notes: list[str] = []
    for operator in trace.operators:
        part = trace._to([operator], lambda o=operator: {o: trace.standing.get(o, {})}) if len(trace.operators) > 1 else trace
        total = part.count()
        some = part.numbered(range(min(total, max(limit - len(rows), 0))))
        origins = [str(origin) for origin in some.origins()] if operator in run.sources else [None] * some.count()
        try:
            records: list[Any] = [shown(record) for record in some.collect()]
        except BigdebugError as why:
            records = [None] * some.count()
            notes += [str(why)] if some.count() else []
        at = datasets.get(operator) or str(run.graph[operator])
        rows += [(at, _Rid(rid), origin, record) for rid, origin, record in zip(some.rids().tolist(), origins, records, strict=True)]
        if total > some.count():
            notes.append(f"{counted(total - some.count())} more at {at}: --limit says how many are shown")
    return Answer(title, ("at", "rid", "origin", "record"), tuple(rows), tuple(dict.fromkeys(notes)))


def _culprits(given: argparse.Namespace) -> Answer:
    session = _opened(given)
    runs = session.runs if given.run is None else (session.run(given.run),)
    rows = tuple(
        (run.name, f"{c.exception_type}: {c.message}", str(c.operator), str(c.user_line or ""), shown(c.record), _sources(c))
        for run in runs for c in run.culprits.known
    )
    notes = tuple(f"{run.name}: {note}" for run in runs for note in run.culprits.unknown)
    cut = (f"{counted(len(rows) - given.limit, 'culprit')} more: --limit says how many are shown",) if len(rows) > given.limit else ()
    return Answer("Crash culprits", ("run", "exception", "operator", "line", "record", "from"), rows[: given.limit], (*notes, *cut))


def _sources(culprit: Any) -> tuple[str, ...]:
    """Where a culprit came from, as far as it is known here; its trace has that without the records themselves."""
    try:
        trace = culprit.trace
        origins = [source.origin for source in trace.source_records()] if not hasattr(trace, "origins") else trace.origins()
        return tuple(map(str, origins[:3]))
    except (BigdebugError, AttributeError):
        return ()


def _check(given: argparse.Namespace) -> Answer:
    from bigdebug.trace.saved.checks import check

    problems = check(given.dir)
    title = f"{counted(len(problems), 'problem')} in {given.dir}" if problems else f"All of {given.dir} is as it was saved"
    return Answer(title, ("file", "problem"), tuple(problems), () if problems else ("Nothing is wrong.",))


def _export(given: argparse.Namespace) -> Answer:
    from bigdebug.trace.saved.export import export

    written = export(_opened(given).run(given.run), given.file, given.form)
    return Answer(f"{counted(written, 'association')} written", ("file", "form", "associations"), ((str(given.file), given.form, written),))


def _prune(given: argparse.Namespace) -> Answer:
    from bigdebug.trace.saved.retention import bytes_of, chosen, prune, seconds_of

    if given.dir == Path():
        raise StoreError("Name the directory that sessions are saved below", remedy="bigdebug prune DIR")
    older = None if given.older_than is None else seconds_of(given.older_than)
    found = chosen(given.dir, older, None if given.larger_than is None else bytes_of(given.larger_than))
    if not given.dry_run:
        found = prune(found)
    gone = sum(kept.goes for kept in found)
    freed = sum(kept.bytes for kept in found if kept.goes)
    rows = tuple(
        (str(kept.path), _time(kept.saved), kept.bytes, _fate(kept, given.dry_run), kept.why) for kept in found
    )
    return Answer(f"{counted(gone, 'directory', 'directories')} {'would go' if given.dry_run else 'removed'}, {freed:,} bytes", ("directory", "saved", "bytes", "what", "why"), rows)


def _fate(kept: Kept, dry: bool) -> str:
    if kept.failed:
        return _FAILED
    return ("would go" if dry else "removed") if kept.goes else "stays"


WORDS: dict[str, Question] = {
    "runs": Question("the runs of a saved session, and what of each is there", [_DIR], _runs),
    "show": Question(
        "the operators of a saved run; or the records of its result, as far as they were saved",
        [_DIR, _RUN, (("--outputs",), {"action": "store_true", "help": "the records of its result, with their numbers"}), _LIMIT], _show,
    ),
    "trace": Question(
        "what records of a saved run were made of; or with --forward, --line or --row, what was made of them",
        [_DIR, _RUN,
         (("--output",), {"apart": "begin", "type": int, "action": "append", "metavar": "N", "help": "of the output of this number, from 0; several times for several"}),
         (("--at",), {"apart": "begin", "type": int, "action": "append", "metavar": "RID", "help": "of the record of this id, at the result or at --source"}),
         (("--line",), {"apart": "begin", "metavar": "FILE:N", "help": "of this line of a text that the run read, from 1; ahead"}),
         (("--row",), {"apart": "begin", "metavar": "FILE:N", "help": "of this row of another file that the run read, from 0; ahead"}),
         (("--source",), {"metavar": "OPERATOR", "help": "begin at this operator in the place of the result"}),
         (("--to",), {"metavar": "OPERATOR", "help": "stop at this operator: its id, name or dataset"}),
         (("--forward",), {"action": "store_true", "help": "ahead, in the place of back"}), _LIMIT],
        _trace,
    ),
    "culprits": Question(
        "the records that saved runs crashed on", [_DIR, (("run",), {"nargs": "?", "metavar": "RUN", "help": "of this run alone"}), _LIMIT], _culprits,
    ),
    "check": Question(
        "whether all files of a saved session are as they were saved; ends with 1 if not", [_DIR], _check, lambda answer: bool(len(answer)),
    ),
    "export": Question(
        "write the associations of a saved run into a file",
        [_DIR, _RUN, (("file",), {"type": Path, "metavar": "FILE", "help": "the file, a new one"}),
         (("--form",), {"default": "parquet", "choices": ("parquet", "json", "triples"), "help": "Parquet; JSON lines; or the triples (src, dst, op) that bigdebug.provenance takes (parquet)"})],
        _export,
    ),
    "prune": Question(
        "remove saved sessions right below a directory, oldest first; saves that ended half way go always",
        [(("dir",), {"type": Path, "metavar": "DIR", "help": "the directory that sessions are saved below"}),
         (("--older-than",), {"metavar": "AGE", "help": "those saved longer ago: 30d, 12h, 2w"}),
         (("--larger-than",), {"metavar": "SIZE", "help": "the oldest, until all that stay have so many bytes at most: 10GB"}),
         (("--dry-run",), {"action": "store_true", "help": "remove nothing, and tell what would go"})],
        _prune, lambda answer: _FAILED in answer.column("what"),
    ),
}
