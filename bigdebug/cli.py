"""The command line: ``bigdebug datasets upstream orders``. Tables for a person, JSON for a program; errors on stderr; needs no Spark."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.home import default_store
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import BigdebugError, DatasetsError
from bigdebug.shown import plain
from bigdebug.store.home import HOME

WRONG, MISUSED, CUT = 1, 2, 141
"""What it ends with: a question that has no answer, a command that is none, a reader that went away (as a shell says it)."""

DATASETS = """Which data feeds which, over all sessions and notebooks in which bigdebug was attached.

  bigdebug datasets list                        all datasets, those used last first
  bigdebug datasets list ord                    those with "ord" in their names
  bigdebug datasets upstream orders             what it was made from, over all steps
  bigdebug datasets downstream orders -c price  what was made with a column of it
  bigdebug datasets impact orders price         what fails, or is stale, if the column is dropped
  bigdebug datasets history /data/orders        what was done to it, with rows and changes of its schema
  bigdebug datasets changed sales               what is different between the last two runs of a job
  bigdebug datasets show orders                 its columns, and what each was made of
  bigdebug datasets processes                   what was done, latest first
  bigdebug datasets show PROCESS                all that was recorded of one, by its id
  bigdebug datasets export FILE                 all of it as events of OpenLineage, or entities of Apache Atlas
  bigdebug datasets send URL                    the same to a collector that takes them

A dataset is named as people type it: orders, shop.orders, /data/orders, s3://bucket/orders. If several are called so, they are listed."""

Ask = Callable[[Datasets, argparse.Namespace], Answer]


class Question(NamedTuple):
    """A word behind ``bigdebug datasets``: what it asks, what it takes, and its answer."""

    help: str
    takes: Sequence[tuple[tuple[str, ...], dict[str, Any]]]
    ask: Ask


_DATASET = (("dataset",), {"metavar": "DATASET", "help": "a dataset, by its name or the last parts of it"})
_COLUMN = (("-c", "--column"), {"metavar": "COLUMN", "help": "of this column of it"})
_LIMIT = (("-n", "--limit"), {"type": int, "metavar": "N", "help": "so many rows at most"})


def _limited(given: argparse.Namespace) -> dict[str, int]:
    return {} if given.limit is None else {"limit": given.limit}


def _sent(asked: Datasets, given: argparse.Namespace) -> Answer:
    """How it stands once all is taken. Raises DatasetsError if it is not within the seconds."""
    sender = asked.send(given.url, given.form, authorization=given.authorization, past=True)
    status = sender.drained(given.seconds)
    if status.waiting or status.refused or status.left_out:
        raise DatasetsError(f"Not all was taken: {status}", remedy="What waits is on disk; ask again.")
    return asked.sending()


QUESTIONS: dict[str, Question] = {
    "list": Question(
        "all datasets, or those with a text in their names", [(("text",), {"nargs": "?", "default": "", "metavar": "TEXT", "help": "a part of a name"}), _LIMIT],
        lambda asked, given: asked.find(given.text, **_limited(given)),
    ),
    "upstream": Question(
        "what a dataset, or a column of it, was made from", [_DATASET, _COLUMN, _LIMIT],
        lambda asked, given: asked.upstream(given.dataset, given.column, **_limited(given)),
    ),
    "downstream": Question(
        "what was made from a dataset, or with a column of it", [_DATASET, _COLUMN, _LIMIT],
        lambda asked, given: asked.downstream(given.dataset, given.column, **_limited(given)),
    ),
    "impact": Question(
        "what fails, or is stale, if a column is dropped", [_DATASET, (("column",), {"metavar": "COLUMN", "help": "the column"}), _LIMIT],
        lambda asked, given: asked.impact(given.dataset, given.column, **_limited(given)),
    ),
    "history": Question(
        "what was done to a dataset and with it, latest first", [_DATASET, _LIMIT], lambda asked, given: asked.history(given.dataset, **_limited(given)),
    ),
    "changed": Question(
        "what is different between two runs of a job, the last two if none are named",
        [(("job",), {"metavar": "JOB", "help": "a job, or a part of its name"}),
         (("before",), {"nargs": "?", "metavar": "PROCESS", "help": "the id of the earlier run"}),
         (("after",), {"nargs": "?", "metavar": "PROCESS", "help": "the id of the later run"})],
        lambda asked, given: asked.changed(given.job, given.before, given.after),
    ),
    "show": Question(
        "the columns of a dataset, and what each was made of; or all of a process",
        [(("what",), {"metavar": "DATASET|PROCESS", "help": "a dataset by its name, or a process by its id"})], lambda asked, given: asked.show(given.what),
    ),
    "processes": Question(
        "what was done, latest first",
        [(("--job",), {"default": "", "metavar": "TEXT", "help": "by jobs with this in their names"}),
         (("--status",), {"default": "", "choices": ("running", "succeeded", "failed"), "help": "that ended so"}), _LIMIT],
        lambda asked, given: asked.processes(given.job, given.status, **_limited(given)),
    ),
    "export": Question(
        "write what was recorded into a file, for the tools of others",
        [(("file",), {"metavar": "FILE", "help": "the file"}),
         (("--form",), {"default": "openlineage", "choices": ("openlineage", "atlas"), "help": "what others read (openlineage)"})],
        lambda asked, given: asked.export(given.file, given.form),
    ),
    "send": Question(
        "tell a collector of all that was recorded, and of what still waits for it",
        [(("url",), {"nargs": "?", "default": "", "metavar": "URL", "help": "its address; else what OPENLINEAGE_URL says"}),
         (("--form",), {"default": "openlineage", "choices": ("openlineage", "atlas"), "help": "what it reads (openlineage)"}),
         (("--authorization",), {"default": "", "metavar": "VARIABLE", "help": "the environment variable that holds the key or the header"}),
         (("--seconds",), {"type": float, "default": 60.0, "metavar": "S", "help": "wait so long for it (60); what is left waits on disk"})],
        _sent,
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer what is asked on the command line; gives what the program ends with."""
    given = parser().parse_args(arguments)
    try:
        answer = QUESTIONS[given.question].ask(Datasets(DatasetStore.of(given.store)), given)
    except BigdebugError as problem:
        print(f"bigdebug: {plain(str(problem))}", file=sys.stderr)
        return WRONG
    return _print(json.dumps(answer.data(), indent=2, default=str) if given.json else answer.table().text(_width()))


def parser() -> argparse.ArgumentParser:
    """What can be typed."""
    top = _Parser("bigdebug", description="Record-level debugging and lineage for PySpark, on the command line.")
    top.add_argument("--version", action="version", version=_version())
    nouns = top.add_subparsers(required=True, metavar="datasets", title="what to ask about")
    datasets = nouns.add_parser("datasets", help="which data feeds which", description=DATASETS, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = datasets.add_subparsers(required=True, dest="question", metavar="QUESTION", title="questions")
    for name, question in QUESTIONS.items():
        word = words.add_parser(name, help=question.help, description=f"{question.help[0].upper()}{question.help[1:]}.")
        for names, said in question.takes:
            word.add_argument(*names, **said)
        word.add_argument("--json", action="store_true", help="as JSON: title, rows, notes; times are ISO 8601")
        word.add_argument("--store", type=Path, metavar="FILE", help=f"the store to ask ({default_store()}, or where {HOME} says)")
    return top


class _Parser(argparse.ArgumentParser):
    """Says what is wrong, and where help is, in place of a usage of many lines."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {plain(message)}\nTry: {self.prog} --help", file=sys.stderr)
        raise SystemExit(MISUSED)


def _version() -> str:
    try:
        return f"bigdebug {version('bigdebug')}"
    except PackageNotFoundError:  # run from a folder that nobody installed
        return "bigdebug, not installed"


def _width() -> int:
    """Characters of a cell: as they fit a terminal; all, where it is none."""
    return max(30, os.get_terminal_size().columns // 2) if sys.stdout.isatty() else 0


def _print(text: str) -> int:
    try:
        print(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(sys.stdout.encoding or "utf-8"), flush=True)
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
