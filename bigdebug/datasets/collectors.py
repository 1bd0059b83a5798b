"""Collectors: who takes events over HTTP, how they are asked, and what their answers mean. Pure.

A collector is trusted with nothing: what it has not plainly taken was not taken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from bigdebug.datasets.model import Process
from bigdebug.datasets.secrets import without_secrets
from bigdebug.errors import DatasetsError

Message = tuple[str, bytes]
"""What a collector is to be told of a process: which of its messages it is, and the body of the request."""

LONGEST_WAIT = 300.0
"""Seconds after which a collector is asked again, whatever it says."""

_OF_ITSELF = frozenset({400, 413, 422})
"""Answers that say of a message that it will never be taken. All others are about the collector, the way to it, or who asks."""


@dataclass(frozen=True)
class Collector:
    """Where messages go. ``tell`` makes them of a process, in order; ``authorization`` is the name of the environment variable that holds what
    the collector is to know one by: a key, or a whole header (``Basic ...``). It is read for each request, and written nowhere. ``purpose`` tells
    what ``tell`` makes from what others make for the same address.
    """

    url: str
    tell: Callable[[Process], Iterable[Message]] = field(compare=False)
    authorization: str = ""
    purpose: str = ""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018 (raises for what is no port)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DatasetsError("A collector has an address of http or https", remedy="Give https://host:port/path.")
        if parts.username or parts.password or without_secrets(self.url) != self.url:
            raise DatasetsError(
                f"The address of the collector at {parts.hostname} has a user, a password or a key in it",
                remedy="Put the header, or the key, into an environment variable, and give the variable's name as authorization=.",
            )

    @property
    def name(self) -> str:
        """What it is called where it is written: its address without what a query says, which may be a key."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def queue(self) -> str:
        """By what its messages are known on disk."""
        return f"{self.name} {self.purpose}".strip()

    def headers(self) -> dict[str, str]:
        """The headers of a request. Raises DatasetsError where the variable is not set, or no header."""
        found = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self.authorization:
            value = os.environ.get(self.authorization, "").strip()
            if not value or not value.isascii() or not value.isprintable():
                raise DatasetsError(
                    f"the environment variable {self.authorization}, by which it is to know us, {'is no header' if value else 'is not set'}",
                    remedy="Set it; what waits is sent then.",
                )
            found["Authorization"] = value if " " in value else f"Bearer {value}"
        return found


@dataclass(frozen=True)
class Answer:
    """What became of a message: ``taken``; ``refused`` for good; or neither, and it is to be sent again, not before ``after`` seconds."""

    taken: bool = False
    refused: bool = False
    why: str = ""
    after: float = 0.0


TAKEN = Answer(taken=True)


def body_of(value: Mapping[str, Any]) -> bytes:
    """What is told, as the body of a request and as a line of a file: JSON in UTF-8. What UTF-8 cannot write is a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def answer_of(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Answer:
    """What a collector's answer means. Header names are in lower case; ``now`` is in seconds since 1970.

    Who answers 200 with a page, or with an error in it, is a proxy or somebody else: nothing was taken.
    """
    if 200 <= status < 300:
        trouble = _trouble(headers.get("content-type", ""), body)
        return Answer(why=f"answers {status}, but {trouble}") if trouble else TAKEN
    if status in _OF_ITSELF:
        return Answer(refused=True, why=f"answers {status}")
    if 300 <= status < 400:
        return Answer(why=f"answers {status}, and redirections are not followed: give the address to which it leads")
    return Answer(why=f"answers {status}", after=min(_after(headers.get("retry-after", ""), now), LONGEST_WAIT))


def _trouble(kind: str, body: bytes) -> str:
    """What is wrong with the body of an answer that says that all is well; nothing, if that is so."""
    if not body.strip() or kind.lower().startswith("text/plain"):
        return ""
    try:
        said = json.loads(body)
    except ValueError:
        return "with what is no JSON"
    wrong = isinstance(said, dict) and (said.get("error") or said.get("errors") or said.get("errorCode") or said.get("status") in ("error", "failure"))
    return "tells of an error" if wrong else ""


def _after(text: str, now: float) -> float:
    """Seconds that Retry-After says: a number of them, or a date."""
    try:
        return max(0.0, float(int(text)))
    except OverflowError:
        return LONGEST_WAIT
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return 0.0
