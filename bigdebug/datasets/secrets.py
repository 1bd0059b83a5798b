"""Secrets: what stands in URLs, options, SQL and messages that nobody else is to know. It is taken out before anything is stored, sent, logged or raised.

Found by what it is called (``password=...``), by where it stands (``//user:password@host``), and by its looks (keys of clouds, tokens). What was
found in one text of a process is taken out of its others as well, for messages say things without their names. What the user calls secret
(``dbg.mask``) is taken out, too.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from hashlib import sha256
from html import escape
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, unquote

from bigdebug.datasets.hiding import Hiding
from bigdebug.datasets.model import Field, Process
from bigdebug.datasets.patterns import (
    ABOUT,
    TELLING,
    VALUES,
)
from bigdebug.shown import MASKED, masked

LONGEST = 4_000
"""Characters of a text that are kept."""

_LOOKED_AT = 16 * LONGEST

_MOST = 10_000
"""Secrets of single queries that are known: of a program that makes millions of queries each may be given one, and each text is looked through for all."""

_hide = Hiding(lambda value: None)
"""For texts that are shown, and nobody asks what was taken out."""

_T = TypeVar("_T")


def without_secrets(text: str) -> str:
    """The text, with *** where something secret stands; no longer than LONGEST. Once more changes nothing. Takes some 0.2 ms for 500
    characters, 200 for the longest text that is looked at."""
    clean = _hide(masked(_bounded(text)))
    return clean if len(clean) <= LONGEST else _hide(f"{clean[: LONGEST - 3]}...")  # what is cut is looked at as it is then


def secret_name(name: str) -> bool:
    """Whether the values of an option of this name are secret."""
    return re.search(TELLING, name, re.IGNORECASE) is not None


def options_without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """Options, or a configuration: what is secret by its name, or in its value, is ***."""
    return {name: MASKED if secret_name(name) else without_secrets(value) for name, value in options.items()}


class Secrets:
    """What is known to be secret in a session, beside what shows by itself. Thread-safe."""

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()
        self._passing: OrderedDict[str, None] = OrderedDict()
        """What single queries were given, the last of them at the end."""
        self._learning = threading.Lock()

    def learn(self, options: Mapping[str, str], passing: bool = False) -> None:
        """Options, or a configuration: their secret values are taken out wherever they stand. Those that are ``passing`` are for one query: they are forgotten
        after thousands of others.
        """
        values = {value for name, value in options.items() if secret_name(name) and not ABOUT.search(name)}
        found = _telling(values.union(*map(_secrets_of, options.values()), *map(_between, options.values()), *map(_parts, values)))
        with self._learning:
            if not passing:
                self._known |= found
                return
            for value in found:
                self._passing[value] = None
                self._passing.move_to_end(value)
            while len(self._passing) > _MOST:
                self._passing.popitem(last=False)

    def text(self, text: str) -> str:
        """A text without secrets."""
        return without_secrets(_replacing(self._all())(text))

    def logged(self, record: logging.LogRecord) -> bool:
        """A filter for a logger: what is logged is without secrets, with the traceback that comes with it."""
        record.msg, record.args = self.text(record.getMessage()), ()
        if record.exc_info:
            record.exc_text, record.exc_info = self.text("".join(traceback.format_exception(*record.exc_info)).rstrip()), None
        return True

    def cleaned(self, process: Process) -> Process:
        """The process without secrets, in whatever it says. Names of datasets stay the same from process to process, unless a secret is
        part of one; types of columns are as they were, for the names of fields in them are no options.
        """
        found = self._all() | _telling(value for text in set(_texts(process)) for value in _secrets_of(text))
        said, named = _replacing(found), _replacing(value for value in found if len(value) >= 8 and not value.isalpha())
        if any(secret_name(field.name) for access in process.writes for field in access.schema):  # which of the values of an INSERT it is, the text need not say
            process = replace(process, text=VALUES.sub(lambda rest: _hide.texts(rest[0]), _bounded(process.text)))
        changed = _each_text(process, lru_cache(None)(lambda name: _bounded_name(_hide(masked(named(name))))))
        return replace(
            changed, error=without_secrets(said(process.error)), text=without_secrets(said(process.text)),
            opaque=tuple(without_secrets(said(each)) for each in process.opaque),
        )

    def _all(self) -> frozenset[str]:
        with self._learning:
            return self._known.union(self._passing)


def _replacing(known: Iterable[str]) -> Callable[[str], str]:
    """Takes what is known to be secret out of a text, as far as it is looked at."""
    longest_first = sorted(known, key=len, reverse=True)
    if not longest_first:
        return _bounded

    def without(text: str) -> str:
        text = _bounded(text)
        for value in longest_first:
            if value in text:
                text = text.replace(value, MASKED)
        return text

    return without


def _bounded_name(text: str) -> str:
    """A name that is too long, cut so that others which begin alike are cut otherwise."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 40]}...{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _telling(values: Iterable[str]) -> frozenset[str]:
    """Those that would not be taken for something else, also as a URL, SQL, JSON, Python or a page writes them."""
    long = [value for value in values if len(value) >= 6 and set(value) != {"*"}]
    return frozenset(form for value in long for form in _forms(value) if len(form) >= 6)


def _forms(value: str) -> tuple[str, ...]:
    return (
        value, unquote(value), quote(value, safe="", errors="replace"), quote(value, errors="replace"), quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1], repr(value)[1:-1], escape(value), value.replace("'", "''"), value.replace("'", "\\'"),
    )


def _parts(value: str) -> Iterator[str]:
    """The keys in a list of them (``name: key, name: key``), and the second half of ``id:secret``."""
    return (part for part in re.split(r"[,:\s]+", value) if len(part) >= 16 and not part.isalpha() and part != value)


def _between(value: str) -> Iterator[str]:
    """The secret values between the semicolons of a connection string, also where they have blanks in them."""
    for each in value[:_LOOKED_AT].split(";")[1:]:
        name, sign, said = each.partition("=")
        if sign and secret_name(name[-100:]):
            yield said.removeprefix("{").removesuffix("}")


def _secrets_of(text: str) -> set[str]:
    """The secret values that a text shows."""
    values: set[str] = set()
    Hiding(values.add)(_bounded(text))
    return values


def _bounded(text: str) -> str:
    """As much of a long text as is looked at. What is cut in two there would not be known for what it is, so it ends where a word does."""
    if len(text) <= _LOOKED_AT:
        return text
    return text[:_LOOKED_AT].rpartition(" ")[0] or "..."


def _texts(value: Any) -> Iterator[str]:
    """All texts of a value, but types."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Field):
        yield value.name
    elif is_dataclass(value):
        for known in fields(value):
            yield from _texts(getattr(value, known.name))


def _each_text(value: _T, change: Callable[[str], str]) -> _T:
    """The value with all texts in it changed, but types."""
    found: Any = value
    if isinstance(found, str):
        found = change(found)
    elif isinstance(found, tuple):
        found = tuple(_each_text(each, change) for each in found)
    elif isinstance(found, Field):
        found = replace(found, name=change(found.name))
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(found, **{known.name: _each_text(getattr(found, known.name), change) for known in fields(found)})
    return found  # type: ignore[no-any-return]
