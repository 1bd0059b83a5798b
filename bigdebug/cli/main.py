"""What is typed: words and what they take, how an answer is printed, and what the program ends with."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

from bigdebug.cli.datasets import DATASETS, QUESTIONS
from bigdebug.cli.question import Question
from bigdebug.cli.saved import SAVED, WORDS
from bigdebug.datasets.home import default_store
from bigdebug.errors import BigdebugError, StoreError
from bigdebug.shown import plain
from bigdebug.store.home import HOME

WRONG, MISUSED, UNWRITTEN, INTERRUPTED, CUT = 1, 2, 74, 130, 141
"""What it ends with: a question that has no answer, a command that is none, an answer that cannot be written (as sysexits.h says it), Ctrl-C, a reader that went away (these two as a
shell says it).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer what is asked on the command line; gives what the program ends with."""
    given = parser().parse_args(arguments)
    question: Question = given.asked
    try:
        answer = question.ask(given)
        ended = _print(json.dumps(answer.data(), indent=2, default=str) if given.json else answer.table().text(_width()))
    except BigdebugError as problem:
        _say(plain(str(problem)))
        return WRONG
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    return ended or (WRONG if question.wrong(answer) else 0)


def parser() -> argparse.ArgumentParser:
    """What can be typed."""
    top = _Parser("bigdebug", description="Record-level debugging and lineage for PySpark, on the command line.")
    top.add_argument("--version", action="version", version=_version())
    nouns = top.add_subparsers(required=True, metavar="WORD", title="what to ask about")
    datasets = nouns.add_parser("datasets", help="which data feeds which", description=DATASETS, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = datasets.add_subparsers(required=True, metavar="QUESTION", title="questions")
    for name, question in QUESTIONS.items():
        word = _word(words, name, question)
        word.add_argument("--store", type=Path, metavar="FILE", help=f"the store to ask ({_default()}, or where {HOME} says)")
    for name, question in WORDS.items():
        _word(nouns, name, question).epilog = SAVED
    return top


def _word(words: argparse._SubParsersAction[_Parser], name: str, question: Question) -> argparse.ArgumentParser:
    word = words.add_parser(name, help=question.help, description=f"{question.help[0].upper()}{question.help[1:]}.")
    apart: dict[str, argparse._ActionsContainer] = {"": word}
    for names, said in question.takes:
        group = said.get("apart", "")
        if group not in apart:
            apart[group] = word.add_mutually_exclusive_group()
        apart[group].add_argument(*names, **{name: value for name, value in said.items() if name != "apart"})
    word.add_argument("--json", action="store_true", help="as JSON: title, rows, notes; times are ISO 8601")
    word.set_defaults(asked=question)
    return word


class _Parser(argparse.ArgumentParser):
    """Says what is wrong, and where help is, in place of a usage of many lines."""

    def error(self, message: str) -> NoReturn:
        _say(f"{plain(message)}\nTry: {self.prog} --help", self.prog)
        raise SystemExit(MISUSED)


def _default() -> str:
    """Which store is asked if none is named, as a help of argparse, to which a percent sign says something."""
    try:
        return str(default_store()).replace("%", "%%")
    except StoreError:  # it is said when it is asked
        return "none"


def _version() -> str:
    try:
        return f"bigdebug {version('bigdebug')}"
    except PackageNotFoundError:  # run from a folder that nobody installed
        return "bigdebug, not installed"


def _width() -> int:
    """Characters of a cell: as they fit a terminal; all, where it is none."""
    return max(30, os.get_terminal_size().columns // 2) if sys.stdout is not None and sys.stdout.isatty() else 0


def _print(text: str) -> int:
    """Write the answer; gives what the program ends with where that cannot be done, else 0."""
    if sys.stdout is None:  # a shell that closed it (>&-)
        return _unwritten("standard output is closed")
    try:
        print(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(sys.stdout.encoding or "utf-8"), flush=True)
    except OSError as problem:
        # What is left of it Python would write at its end, and fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):  # `| head` has read enough
            return CUT
        return _unwritten(problem.strerror or str(problem))
    return 0


def _unwritten(why: str) -> int:
    _say(f"the answer cannot be written: {why}")
    return UNWRITTEN


def _say(text: str, program: str = "bigdebug") -> None:
    """Tell the user, beside the answer. Where nobody can be told, what the program ends with says it alone."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"{program}: {text}", file=sys.stderr, flush=True)
