"""Questions about datasets: ``bigdebug datasets upstream orders``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from bigdebug.cli.question import Question, Takes, rows_at_most
from bigdebug.datasets.answers import Answer
from bigdebug.datasets.model import STATUSES
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import DatasetsError

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

_DATASET = (("dataset",), {"metavar": "DATASET", "help": "a dataset, by its name or the last parts of it"})
_COLUMN = (("-c", "--column"), {"metavar": "COLUMN", "help": "of this column of it"})
_LIMIT = (("-n", "--limit"), {"type": rows_at_most, "metavar": "N", "help": "so many rows at most"})


def _limited(given: argparse.Namespace) -> dict[str, int]:
    return {} if given.limit is None else {"limit": given.limit}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"no number of seconds: {text!r}")
    return seconds


def _sent(asked: Datasets, given: argparse.Namespace) -> Answer:
    """How it stands once all is taken. Raises DatasetsError if it is not within the seconds, or the variable of the key is not set."""
    sender = asked.send(given.url, given.form, authorization=given.authorization)
    sender.collector.headers()
    sender.again()  # who asks for it does not mean later, whatever the collector said to others before
    status = sender.send_all(asked.store.each(), given.seconds)
    if status.waiting or status.refused or status.left_out:
        raise DatasetsError(f"Not all was taken: {status}", remedy="Ask again when it takes them, and give it more --seconds where these were too few.")
    return asked.sending()


def _asking(about: str, takes: Takes, ask: Callable[[Datasets, argparse.Namespace], Answer]) -> Question:
    """A question to the store that is named."""
    return Question(about, takes, lambda given: ask(Datasets(DatasetStore.of(given.store)), given))


QUESTIONS: dict[str, Question] = {
    "list": _asking(
        "all datasets, or those with a text in their names", [(("text",), {"nargs": "?", "default": "", "metavar": "TEXT", "help": "a part of a name"}), _LIMIT],
        lambda asked, given: asked.find(given.text, **_limited(given)),
    ),
    "upstream": _asking(
        "what a dataset, or a column of it, was made from", [_DATASET, _COLUMN, _LIMIT],
        lambda asked, given: asked.upstream(given.dataset, given.column, **_limited(given)),
    ),
    "downstream": _asking(
        "what was made from a dataset, or with a column of it", [_DATASET, _COLUMN, _LIMIT],
        lambda asked, given: asked.downstream(given.dataset, given.column, **_limited(given)),
    ),
    "impact": _asking(
        "what fails, or is stale, if a column is dropped", [_DATASET, (("column",), {"metavar": "COLUMN", "help": "the column"}), _LIMIT],
        lambda asked, given: asked.impact(given.dataset, given.column, **_limited(given)),
    ),
    "history": _asking(
        "what was done to a dataset and with it, latest first", [_DATASET, _LIMIT], lambda asked, given: asked.history(given.dataset, **_limited(given)),
    ),
    "changed": _asking(
        "what is different between two runs of a job, the last two if none are named",
        [(("job",), {"metavar": "JOB", "help": "a job, or a part of its name"}),
         (("before",), {"nargs": "?", "metavar": "PROCESS", "help": "the id of the earlier run"}),
         (("after",), {"nargs": "?", "metavar": "PROCESS", "help": "the id of the later run"})],
        lambda asked, given: asked.changed(given.job, given.before, given.after),
    ),
    "show": _asking(
        "the columns of a dataset, and what each was made of; or all of a process",
        [(("what",), {"metavar": "DATASET|PROCESS", "help": "a dataset by its name, or a process by its id"})], lambda asked, given: asked.show(given.what),
    ),
    "processes": _asking(
        "what was done, latest first",
        [(("--job",), {"default": "", "metavar": "TEXT", "help": "by jobs with this in their names"}),
         (("--status",), {"default": "", "choices": STATUSES, "help": "that ended so"}), _LIMIT],
        lambda asked, given: asked.processes(given.job, given.status, **_limited(given)),
    ),
    "export": _asking(
        "write what was recorded into a file, for the tools of others",
        [(("file",), {"metavar": "FILE", "help": "the file"}),
         (("--form",), {"default": "openlineage", "choices": ("openlineage", "atlas"), "help": "what others read (openlineage)"})],
        lambda asked, given: asked.export(given.file, given.form),
    ),
    "send": _asking(
        "tell a collector of all that was recorded, and of what still waits for it",
        [(("url",), {"nargs": "?", "default": "", "metavar": "URL", "help": "its address; else what OPENLINEAGE_URL says"}),
         (("--form",), {"default": "openlineage", "choices": ("openlineage", "atlas"), "help": "what it reads (openlineage)"}),
         (("--authorization",), {"default": "", "metavar": "VARIABLE", "help": "the environment variable that holds the key or the header"}),
         (("--seconds",), {"type": _seconds, "default": 60.0, "metavar": "S", "help": "wait so long for it (60); what is left waits on disk"})],
        _sent,
    ),
}


