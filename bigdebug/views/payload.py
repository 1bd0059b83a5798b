"""The contract with the browser: what the kernel and JupyterLab's panel say to each other, as JSON-ready data.

``labextension/src/payload.ts`` is its other half; both read and write the files of ``tests/golden/payload``. A message has a version,
a name (``request``, ``answer`` or ``event``) and its content; an answer has the id of its request. Whatever comes from the user is
text here, without control characters and secrets, and not longer than a reader needs: no message has markup or code in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from bigdebug.errors import BigdebugError, MessageError
from bigdebug.graph import Operator
from bigdebug.shown import masked, plain, shown
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.run import Run

VERSION = 1
"""Of all messages but ``refused``, which every version reads: a panel and a kernel of two releases tell each other that they are."""

EVENTS = "bigdebug.events"
"""The comm target by which the kernel tells of changes, from any thread."""

CONTROL = "bigdebug.control"
"""The comm target by which the panel asks: each request has one answer."""

VIEW = "bigdebug.view"
"""The comm target by which a view is shown in JupyterLab's main area: opened with the request ``view``, on it go the view's own messages."""

LONGEST = 400
"""Characters of a text that a message has."""

CAUSES = 20
"""Causes of crashes that a message tells of."""

LOOKED_AT = 1_000
"""Culprits whose causes are counted."""


@dataclass(frozen=True)
class Request:
    """What the panel asks, by name; ``id`` is its own number for it."""

    id: int
    name: str
    content: Mapping[str, Any]

    def number(self, name: str) -> int:
        """A whole number of its content, from 0. Raises MessageError if it has none of that name."""
        value = self.content.get(name)
        if not is_count(value):
            raise MessageError(f"The request {self.name!r} needs {name}, a whole number", value=value, remedy="Reload the page.")
        return value

    def text(self, name: str) -> str:
        """A text of its content. Raises MessageError if it has none of that name."""
        value = self.content.get(name)
        if not isinstance(value, str):
            raise MessageError(f"The request {self.name!r} needs {name}, a text", value=value, remedy="Reload the page.")
        return value


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value of a message is a whole number from 0 that a browser can count to."""
    return type(value) is int and 0 <= value < 1 << 53


def read_request(data: Any) -> Request:
    """The request that a message is. Raises MessageError for what is none, or of another version."""
    check_version(data)
    number, name, content = data.get("id"), data.get("request"), data.get("content")
    if not is_count(number) or not isinstance(name, str) or not isinstance(content, dict):
        raise MessageError("This message is no request: it needs id, request and content", value=data, remedy="Reload the page.")
    return Request(number, name, content)


def check_version(data: Any) -> None:
    """Raises MessageError for a message that is not of this version."""
    version = data.get("version") if isinstance(data, dict) else None
    if version != VERSION:
        raise MessageError(
            f"JupyterLab's bigdebug speaks version {version if type(version) is int else 'unknown'} of their messages, this kernel's version {VERSION}",
            remedy="Install the same bigdebug where JupyterLab runs and where the kernel does, restart the kernel, and reload the page.",
        )


def answer(request: Request, content: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernel says to a request."""
    return {"version": VERSION, "id": request.id, "answer": request.name, "content": content}


def event(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernel says unasked."""
    return {"version": VERSION, "event": name, "content": content}


def refused(data: Any, why: BigdebugError) -> dict[str, Any]:
    """The answer to a message that cannot be answered, whatever it was. Its form is the same in every version."""
    number = data.get("id") if isinstance(data, dict) else None
    content = {"what": text(f"{plain(why.what)}{'' if why.value is None else f' (got {shown(why.value)})'}."), "remedy": text(why.remedy)}
    return {"version": VERSION, "id": number if is_count(number) else None, "answer": "refused", "content": content}


# ---- contents ----------------------------------------------------------------------------------------------------


def run_line(run: Run, noted: float, cell: str | None, execution: int | None) -> dict[str, Any]:
    """A run as a line of a list; ``noted`` is when the kernel first knew it, in seconds since 1970, ``cell`` the one that ran then, and
    ``execution`` the number that the cell had. Costs no job."""
    known = run.statistics
    return {
        "id": run.id, "name": text(run.name), "action": text(run.action), "status": run.status, "began": run.began, "noted": noted, "cell": maybe(cell), "execution": execution,
        "seconds": number_of(known.seconds), "read": _count(known.records_in), "outputs": _count(known.records_out), "bytes": _count(known.bytes),
        "culprits": {"known": len(run.culprits.known), "complete": run.culprits.complete},
        "incomplete": [text(why) for why in run.incomplete],
    }


def run_details(run: Run) -> dict[str, Any]:
    """The operators of a run, sources first, and the causes of its crashes as far as they are known. Costs no job; of a DataFrame, its plan is read."""
    records = run.statistics.records
    return {
        "run": run.id,
        "operators": [_operator(operator, records) for operator in run.graph if "internal" not in operator.detail],
        "causes": _causes(run),
        "notes": [text(why) for why in run.culprits.unknown],
    }


def _operator(operator: Operator, records: Mapping[int, int]) -> dict[str, Any]:
    return {
        "id": operator.id, "name": text(operator.name), "kind": operator.kind.value, "parents": list(operator.parents),
        "records": records.get(operator.id), "dataset": maybe(operator.dataset), "line": maybe(operator.call_site),
    }


def _causes(run: Run) -> list[dict[str, Any]]:
    """As a table of culprits has them: the most frequent cause first, with its first record."""
    known = run.culprits.known[:LOOKED_AT]
    first = {culprit.cause: culprit for culprit in reversed(known)}
    return [_cause(first[cause], count) for cause, count in Counter(culprit.cause for culprit in known).most_common(CAUSES)]


def _cause(culprit: CrashCulprit, count: int) -> dict[str, Any]:
    return {
        "culprits": count, "exception": text(f"{culprit.exception_type}: {culprit.message}"), "operator": text(str(culprit.operator)),
        "line": maybe(culprit.user_line), "record": text(shown(culprit.record)),
    }


def text(given: str, longest: int = LONGEST) -> str:
    """``given`` as a reader sees it: on one line, without what a screen would obey, secrets, and more than so many characters."""
    # Secrets go before the cut: the rest of one might not be known for what it is.
    found = plain(masked(given)[: longest + 1])
    return found if len(found) <= longest else f"{found[: longest - 1]}…"


def maybe(given: Any) -> str | None:
    """The text of what may not be there."""
    return None if given is None else text(str(given))


def _count(number: int) -> int | None:
    """None for what nobody counted."""
    return None if number < 0 else number


def number_of(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return round(value, 3) if math.isfinite(value) and value >= 0 else None
