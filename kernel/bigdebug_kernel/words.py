"""Words: the line behind a magic, split where it is blank, and what of it a command takes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

if TYPE_CHECKING:
    from bigdebug_kernel.asking import Asking

Offers = Callable[["Asking"], Iterable[str]]
"""What Tab offers in the place of an argument."""

_WORD = re.compile(r"""(?:--[\w-]+=)?(?:"[^"]*"|'[^']*')(?!\S)|\S+""")


class LackingError(Exception):
    """A line that leaves out what a command cannot do without; the message says what."""


def split(line: str) -> list[str]:
    """The words of a line. What stands in quotation marks is one word, which keeps them. Raises UsageError for a quotation without an end."""
    words = _WORD.findall(line)
    for word in words:
        value = word.partition("=")[2] if word.startswith("--") else word
        if value[:1] in ("'", '"') and value.count(value[0]) % 2:
            raise UsageError(f"{line.strip()}: No closing quotation")
    return words


def unquoted(word: str) -> str:
    """A word without the quotation marks around it."""
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def at_least(least: int, what: str) -> Callable[[str], int]:
    """A whole number from ``least``, as argparse wants its types; ``what`` says of what, for those who give another one."""
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{what} from {least}, not {text!r}")
        return int(text)

    return number


def real(text: str) -> float:
    """A number that is one, as argparse wants its types."""
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found != found:
        raise argparse.ArgumentTypeError(f"a number, not {text!r}")
    return found


@dataclass(frozen=True)
class _Argument:
    flags: tuple[str, ...]
    valued: bool
    needed: bool
    many: bool
    metavar: str
    offers: Offers

    @property
    def usual(self) -> str:
        """How it stands in a line that has what is needed, and all words."""
        if self.flags:
            return f"{self.flags[-1]} {self.metavar}"
        return self.metavar if self.needed else f"[{self.metavar}{' ...' if self.many else ''}]"


class Words(MagicArgumentParser):
    """What a command takes. ``see`` is where its help is, for those who call it in a way that it is not made for."""

    def __init__(self, called: str, does: str, see: str) -> None:
        super().__init__(called, description=does, formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=110, max_help_position=30))
        self.allow_abbrev = False
        self._see = see
        self._known: list[_Argument] = []

    def takes(self, *names: str, offers: Offers | None = None, **said: Any) -> None:
        """One more argument, as ``add_argument`` has it; words lose their quotation marks, if no ``type`` is said. ``offers`` are its ``choices``, if nothing else is said."""
        valued, count = said.get("action") is None, said.get("nargs")
        if valued:
            said.setdefault("type", unquoted)
        if count == "*":
            said.setdefault("default", ())  # else argparse says that it needs one
        choices = tuple(said.get("choices", ()))
        flags = names if names[0].startswith("-") else ()
        needed = said.get("required", False) if flags else count not in ("?", "*")
        self._known.append(_Argument(flags, valued, needed, count == "*", said.get("metavar", ""), offers or (lambda asking: choices)))
        self.add_argument(*names, **said)
        usual = sorted((argument for argument in self._known if argument.needed or not argument.flags), key=lambda argument: bool(argument.flags))
        free = ["[options]"] if any(argument.flags and not argument.needed for argument in self._known) else []
        self.usage = " ".join(["%(prog)s", *(argument.usual for argument in usual), *free])

    def parsed(self, line: str) -> Any:
        """The arguments on a line; options may stand anywhere. Raises UsageError for others, LackingError for too few."""
        return self.parse_intermixed_args(split(line))

    def error(self, message: str) -> NoReturn:
        """Argparse's own words name neither the magic nor where help is."""
        lacking = message.partition("the following arguments are required: ")[2]
        if lacking:
            raise LackingError(f"{self.prog} needs {lacking.replace(', ', ' and ')}; see {self._see}")
        strange = message.partition("unrecognized arguments: ")[2]
        hint = "" if not strange or strange.startswith("-") else "; what has blanks in it stands in quotation marks"
        raise UsageError(f"{self.prog}: {message}{hint}; see {self._see}")

    # ---- completion -------------------------------------------------------------------------------------------

    def offered(self, before: Sequence[str], asking: Asking) -> list[str]:
        """What can follow the words ``before``: the value of an option; or a word without one, and options that are not there yet."""
        by_flag = {flag: argument for argument in self._known for flag in argument.flags}
        given: list[_Argument] = []
        plain, value_of = 0, None
        for word in before:
            if value_of is not None:
                value_of = None
                continue
            argument = by_flag.get(word.partition("=")[0])
            if argument is None:
                plain += 1
            else:
                given.append(argument)
                value_of = argument if argument.valued and "=" not in word else None
        if value_of is not None:
            return list(value_of.offers(asking))
        words = [argument for argument in self._known if not argument.flags]
        here = next(iter(words[plain:]), words[-1] if words and words[-1].many else None)
        offers = [] if here is None else list(here.offers(asking))
        if here is not None and here.needed:
            return offers
        return offers + [argument.flags[-1] for argument in self._known if argument.flags and argument not in given]
