"""Slips: texts that somebody may have meant who typed another one, where it is not its end that is wrong: that one finds beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LONG = 1_000
"""Characters, or bytes, beyond which a text is not compared with others letter by letter: nobody typed it."""
_FAR = 16
"""Characters at the beginning of a text among which one may be wrong."""


def variants(text: str, beginnings: Iterable[str] = ()) -> list[str]:
    """The text in other cases, with two neighbouring characters of its beginning exchanged, or one left out; with each of some ``beginnings`` before it, or in the
    place of its first character. Some dozens at most, beside those; none of a text of more than ``LONG`` characters.
    """
    if len(text) > LONG:
        return []
    edited = (*_cases(text), *_edits(text), *(first + rest for first in beginnings for rest in (text, text[1:])))
    return [one for one in dict.fromkeys(edited) if one != text]


def _cases(text: str) -> Iterator[str]:
    """All of it in another case, or what is before its first separator."""
    head = re.match(r"\w*", text)
    assert head is not None  # nothing is a match as well
    for change in (str.lower, str.upper, str.capitalize, str.title):
        yield change(text)
        yield change(head[0]) + text[head.end() :]


def _edits(text: str) -> Iterator[str]:
    for place in range(min(len(text), _FAR)):
        yield text[:place] + text[place + 1 :]
        yield text[:place] + text[place + 1 : place + 2] + text[place : place + 1] + text[place + 2 :]
