"""Which dataset a name means, as people type it: all of it, its last parts, its path or its table; in whatever case, if no other is meant."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import last_part, of_path
from bigdebug.datasets.secrets import without_secrets
from bigdebug.errors import AmbiguousDatasetError, UnknownColumnError, UnknownDatasetError

ENDING = frozenset({"view", "cache", "memory", "rdd"})
"""Kinds that end with their session."""

_SHOWN = 8
"""Candidates that an error names."""


class Known(NamedTuple):
    """A dataset of the store, and its number there."""

    id: int
    dataset: Dataset
    place: str


@dataclass(frozen=True)
class Meant:
    """What a name means, and what has to be said of it."""

    id: int
    dataset: Dataset
    note: str = ""


def meant(db: sqlite3.Connection, name: str | Dataset, session: str = "") -> Meant:
    """The dataset of a name, or of the store's own value of it. Of views and the like, which each session has its own of, that of ``session``, else of the session that had it last.

    Raises UnknownDatasetError, which names datasets of similar names, or AmbiguousDatasetError, which names all that it may be.
    """
    if isinstance(name, Dataset):
        told = db.execute("SELECT id, namespace, name, kind, format, location FROM dataset WHERE namespace = ? AND name = ?", (name.namespace, name.name)).fetchone()
        if told is None:
            raise UnknownDatasetError("Nothing was recorded of this dataset", value=str(name), remedy="dbg.datasets.find() has all that there are.")
        return Meant(told[0], Dataset(*told[1:]))
    if not isinstance(name, str):
        raise TypeError(f"a dataset is named by text, \"orders\" or \"/data/orders\", not {name!r}")
    found = _candidates(db, name)
    lasting = [each for each in found if each.dataset.kind not in ENDING]
    if lasting:
        places = {each.place or str(each.dataset) for each in lasting}
        if len(places) == 1:
            best = next((each for each in lasting if each.dataset.kind == "table"), lasting[0])
            return Meant(best.id, best.dataset)
        raise _ambiguous(name, lasting)
    if not found:
        raise UnknownDatasetError("Nothing was recorded of such a dataset", value=without_secrets(name), remedy=_near(db, name))
    here = [each for each in found if each.dataset.namespace == f"spark:{session}"]
    if len({each.dataset.name for each in here or found}) > 1:
        raise _ambiguous(name, here or found)
    if here or len(found) == 1:
        return Meant((here or found)[0].id, (here or found)[0].dataset)
    latest = max(found, key=lambda each: each.id)
    return Meant(latest.id, latest.dataset, f"{len(found):,} sessions had one of this name; this is that of {latest.dataset.namespace.removeprefix('spark:')}.")


def column_meant(name: str, columns: Sequence[str], dataset: Dataset) -> str:
    """The column of a name, in whatever case, if it has no other that is called so. Raises UnknownColumnError, which names those that there are."""
    if name in columns:
        return name
    alike = [each for each in columns if each.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    near = get_close_matches(name, columns, 3) or columns[:_SHOWN]
    raise UnknownColumnError(
        f"{dataset} has no such column", value=name, remedy=f"It has {', '.join(near)}{' and others' if len(near) < len(columns) else ''}." if near else "No columns of it are known.",
    )


def _candidates(db: sqlite3.Connection, name: str) -> list[Known]:
    """Those that fit best: by all of the name, else by its last parts, else by that without its ending; each in that case, else in any."""
    text = name.strip().strip("`")
    wanted = text.rstrip("/") or text
    labels = {last_part(wanted).lower(), wanted.rpartition("/")[2].lower(), re.split(r"[./]", wanted)[-1].lower()}
    marks = ", ".join("?" * len(labels))
    rows = db.execute(
        f"SELECT id, namespace, name, kind, format, location, place FROM dataset WHERE label IN ({marks}) OR stem IN ({marks})", (*labels, *labels),
    ).fetchall()
    known = [Known(number, Dataset(*told), place) for number, *told, place in rows]
    path = str(of_path(wanted)) if wanted.startswith("/") or ":" in wanted else ""
    ways: tuple[Callable[[Known], object], ...] = (
        lambda each: wanted in (str(each.dataset), each.dataset.name) or (path and path in (str(each.dataset), each.place)),
        lambda each: _ends(each.dataset.name, wanted),
        lambda each: _ends(each.dataset.name.lower(), wanted.lower()),
        lambda each: "/" in each.dataset.name and _ends(each.dataset.name.rpartition(".")[0], wanted),
        lambda each: "/" in each.dataset.name and _ends(each.dataset.name.rpartition(".")[0].lower(), wanted.lower()),
    )
    return next((found for fits in ways if (found := [each for each in known if fits(each)])), [])


def _ends(whole: str, part: str) -> bool:
    """Whether a name ends with whole parts."""
    return whole.endswith(part) and (len(whole) == len(part) or part[:1] in "/." or whole[-len(part) - 1] in "/.") if part else False


def _ambiguous(name: str, found: Sequence[Known]) -> AmbiguousDatasetError:
    named = sorted(str(each.dataset) for each in found)
    more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    return AmbiguousDatasetError(f"{len(named):,} datasets are called so", value=without_secrets(name), remedy=f"Say more of it: {', '.join(named[:_SHOWN])}{more}.")


def _near(db: sqlite3.Connection, name: str) -> str:
    labels = [label for (label,) in db.execute("SELECT DISTINCT label FROM dataset WHERE kind NOT IN ('memory', 'cache') ORDER BY label LIMIT 20000")]
    near = get_close_matches(last_part(name).lower(), labels, 5)
    near = near or [label for label in labels if last_part(name).lower() in label][:5]
    return f"Do you mean {', '.join(near)}?" if near else "dbg.datasets.find(), or bigdebug datasets list, has all that there are."
