"""Hiding: what in a text shows by itself that it is secret, by its name, its place or its looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bigdebug.datasets.patterns import (
    ASKED,
    BEHIND,
    CALLED,
    CONNECTED,
    CONTAINER,
    ELEMENT,
    KEY,
    LISTED,
    LOOKS,
    RANDOM,
    STANDING,
    TEXT,
    is_mixed,
    is_random,
    says_something,
)
from bigdebug.shown import MASKED

_ESCAPE = re.compile(r"%2[26]|%3b|&quot;", re.IGNORECASE)
"""Where a value ends that stands in a text as a URL or a page has it."""

Found = re.Match[str]


class Hiding:
    """Gives texts without secrets; ``tell`` is told each of these."""

    def __init__(self, tell: Callable[[str], Any]) -> None:
        self._tell = tell

    def __call__(self, text: str) -> str:
        """The text, with *** in the place of what is secret."""
        says = says_something(text)
        if "crypt" in text.casefold():
            text = KEY.sub(self._key, text)
        if says:
            text = CONNECTED.sub(self._held, BEHIND.sub(self._behind, ELEMENT.sub(self._held, text)))
            text = LISTED.sub(lambda found: f"{found['said']}{self.texts(found['values'])}", text)
        for pattern in STANDING:
            text = pattern.sub(self._who, text)
        for mark, pattern in LOOKS:
            if mark in text:
                text = pattern.sub(self._looks, text)
        for pattern in RANDOM:
            text = pattern.sub(self._random, text)
        if "?" in text or "&" in text:
            text = ASKED.sub(self._asked, text)
        return CALLED.sub(self._called, text) if says else text

    def texts(self, values: str) -> str:
        """Values of SQL, with *** in the place of the texts among them."""
        return TEXT.sub(self._text, values)

    # ---- what stands in the place of each kind ----------------------------------------------------------------

    def _called(self, found: Found) -> str:
        said, value = (found["said"], found["value"]) if found["said"] is not None else (found["given"], found["word"])
        if found["mark"] is not None:  # within a text that is quoted itself
            mark = found["slashes"] + found["mark"]
            close = mark if value.endswith(mark) and len(value) > len(mark) else ""
            self._tell(value[len(mark) : len(value) - len(close)])
            return f"{said}{mark}{MASKED}{close}"
        if value[0] in "'\"`{[":
            close = value[-1] if len(value) > 1 and value[-1] in "'\"`}]" else ""
            for each in [value[1 : len(value) - len(close)], *map(_inside, TEXT.findall(value))]:
                self._tell(each)
            return f"{said}{value[0]}{MASKED}{close}"
        self._tell(value)
        self._tell(_ESCAPE.split(value)[0])
        return f"{said}{MASKED}"

    def _held(self, found: Found) -> str:
        self._tell(found["value"].strip())
        return f"{found['said']}{MASKED}"

    def _random(self, found: Found) -> str:
        return self._held(found) if is_random(found["value"]) else found[0]

    def _asked(self, found: Found) -> str:
        return self._held(found) if is_mixed(found["value"]) else found[0]

    def _who(self, found: Found) -> str:
        value, before = found[0], found.string[max(0, found.start() - 12) : found.start()]
        if ":" not in value and CONTAINER.search(before):
            return value
        user, _, password = value.partition(":" if before.endswith("://") else "/")
        self._tell(password or user)
        self._tell(value)
        return MASKED

    def _looks(self, found: Found) -> str:
        if found.lastgroup == "other":
            return found[0]
        self._tell(found[0])
        return MASKED

    def _key(self, found: Found) -> str:
        before, quote, value = re.split("(['\"])", found["value"], maxsplit=1) if found["value"][-1] in "'\"" else ("", "", found["value"])
        if quote:
            self._tell(value[:-1])
        return f"{found['said']}{before}{quote}{MASKED}{quote}"

    def _behind(self, found: Found) -> str:
        self._tell(found["value"][1:-1])
        return f"{found['value'][0]}{MASKED}{found['value'][-1]}{found['said']}"

    def _text(self, found: Found) -> str:
        text = found[0]
        self._tell(_inside(text))
        return f"{text[0]}{MASKED}{text[0] if len(text) > 1 and text[-1] == text[0] else ''}"


def _inside(text: str) -> str:
    """What stands in quotes, of which the last may be missing."""
    return text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
