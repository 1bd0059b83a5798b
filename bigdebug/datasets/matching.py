"""Which dataset a name means, as people type it: all of it, its last parts, its path or its table; in whatever case, if no other is meant."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import last_part, of_path
from bigdebug.datasets.secrets import without_secrets
from bigdebug.datasets.spelling import stored, stored_column
from bigdebug.errors import AmbiguousDatasetError, UnknownColumnError, UnknownDatasetError

_PARTS = re.compile(r"(?:(?:`(?:[^`]|``)+`|[^`.]+)(?:\.|$))+")
"""A name in parts, of which some are in backticks."""

_SHOWN = 8
"""Candidates that an error names."""

_LONGEST = 200
"""Characters of a name that is compared with others: of millions it takes seconds."""

_ENDING = 3
"""From which fit on it is called so but for its ending."""


class Known(NamedTuple):
    """A dataset of the store, its number there, and how well a name fits it: 0 best."""

    id: int
    dataset: Dataset
    place: str
    fit: int


@dataclass(frozen=True)
class Meant:
    """What a name means, and what has to be said of it."""

    id: int
    dataset: Dataset
    note: str = ""


def meant(db: sqlite3.Connection, name: str | Dataset, session: str = "") -> Meant:
    """The dataset of a name, or of the store's own value of it. What outlives its session comes before views, caches and the like, which end with theirs, and a
    note says so where this session has one of that name: but this comes first where the session had nothing to do with the other. Of views, that of ``session``,
    else of the session that had it last.

    Raises UnknownDatasetError, which names datasets of similar names, or AmbiguousDatasetError, which names all that it may be.
    """
    if isinstance(name, Dataset):
        told = db.execute("SELECT id, namespace, name, kind, format, location FROM dataset WHERE namespace = ? AND name = ?", (stored(name.namespace), stored(name.name))).fetchone()
        if told is None:
            raise UnknownDatasetError("Nothing was recorded of this dataset", value=str(name), remedy="dbg.datasets.find() has all that there are.")
        return Meant(told[0], Dataset(*told[1:]))
    if not isinstance(name, str):
        raise TypeError(f"a dataset is named by text, \"orders\" or \"/data/orders\", not {name!r}")
    known = list(_called(db, name))
    lasting = _best(each for each in known if not _ends_with_session(each.dataset))
    passing = _best(each for each in known if _ends_with_session(each.dataset))
    here = _best(each for each in known if _is_of(each.dataset, session) and each.dataset.kind != "cache")
    if lasting and not (here and (here[0].fit < _ENDING <= lasting[0].fit or (here[0].fit <= lasting[0].fit and not _is_used(db, lasting, session)))):
        return _lasting(name, lasting, here)
    if not passing:
        raise UnknownDatasetError("Nothing was recorded of such a dataset", value=without_secrets(name), remedy=_near(db, name))
    beside = f"{lasting[0].dataset} is called so, too{', but for its ending' if lasting[0].fit >= _ENDING else ''}." if lasting else ""
    here = here or [each for each in passing if _is_of(each.dataset, session)]
    if len({each.dataset.name for each in here or passing}) > 1 or len(here) > 1:
        raise _ambiguous(name, here or passing)
    if here or len(passing) == 1:
        return Meant((here or passing)[0].id, (here or passing)[0].dataset, beside)
    latest = max(passing, key=lambda each: each.id)
    return Meant(latest.id, latest.dataset, f"{len(passing):,} sessions had one of this name; this is that of {latest.dataset.namespace.removeprefix('spark:')}.")


def _lasting(name: str, found: Sequence[Known], here: Sequence[Known]) -> Meant:
    """Of datasets that outlive their sessions the one that is meant: a table and its files are one."""
    if len({each.place or str(each.dataset) for each in found}) > 1:
        raise _ambiguous(name, [*found, *here])
    best = next((each for each in found if each.dataset.kind == "table"), found[0])
    note = f"This is {best.dataset}. {_and(here)} of this session {'is' if len(here) == 1 else 'are'} called so, too." if here else ""
    return Meant(best.id, best.dataset, note)


def _and(some: Sequence[Known]) -> str:
    return " and ".join(f"{each.dataset.kind} {each.dataset}" for each in some[:_SHOWN])


def column_meant(name: str, columns: Sequence[str], dataset: Dataset) -> str:
    """The column of a name, in whatever case, if it has no other that is called so. Raises UnknownColumnError, which names those that there are."""
    if not isinstance(name, str):
        raise TypeError(f"a column is named by text, \"amount\", not {name!r}")
    name = stored_column(name)
    if name in columns:
        return name
    alike = [each for each in columns if each.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    near = get_close_matches(name[:_LONGEST], columns, 3) or columns[:_SHOWN]
    raise UnknownColumnError(
        f"{dataset} has no such column", value=name, remedy=f"It has {', '.join(near)}{' and others' if len(near) < len(columns) else ''}." if near else "No columns of it are known.",
    )


def _ends_with_session(dataset: Dataset) -> bool:
    """Whether it is gone when its session is: a temporary view, a cache, what a program made."""
    return dataset.namespace.startswith("spark:")


def _is_of(dataset: Dataset, session: str) -> bool:
    """Whether it is of a session's application; one that this has more sessions of, names them by numbers: ``spark:app-1/2``."""
    return dataset.namespace.partition("/")[0] == f"spark:{session}"


def _is_used(db: sqlite3.Connection, known: Sequence[Known], session: str) -> bool:
    """Whether a job of the session read or wrote one of them."""
    used = "SELECT 1 FROM passage JOIN process ON process.flow = passage.flow WHERE passage.dataset = ? AND process.session = ? LIMIT 1"
    return any(db.execute(used, (each.id, session)).fetchone() for each in known)


def _best(known: Iterable[Known]) -> list[Known]:
    """Those that fit best."""
    every = list(known)
    best = min((each.fit for each in every), default=0)
    return [each for each in every if each.fit == best]


def _called(db: sqlite3.Connection, name: str) -> Iterator[Known]:
    """Those that a name may mean: by where they are, by its last parts, or by those without its ending; each in that case, else in any."""
    text = _unquoted(stored(name.strip()))
    wanted = text.rstrip("/") or text
    labels = {last_part(wanted).lower(), wanted.rpartition("/")[2].lower(), re.split(r"[./]", wanted)[-1].lower()}
    marks = ", ".join("?" * len(labels))
    rows = db.execute(
        f"SELECT id, namespace, name, kind, format, location, place FROM dataset WHERE label IN ({marks}) OR stem IN ({marks})", (*labels, *labels),
    ).fetchall()
    path = str(of_path(wanted)) if wanted.startswith("/") or ":" in wanted else ""
    ways: tuple[Callable[[Dataset, str], object], ...] = (
        lambda each, place: wanted == str(each) or (path and path in (str(each), place)),
        lambda each, place: _ends(each.name, wanted),
        lambda each, place: _ends(each.name.lower(), wanted.lower()),
        lambda each, place: "/" in each.name and _ends(each.name.rpartition(".")[0], wanted),
        lambda each, place: "/" in each.name and _ends(each.name.rpartition(".")[0].lower(), wanted.lower()),
    )
    for number, *told, place in rows:
        dataset = Dataset(*told)
        fit = next((i for i, fits in enumerate(ways) if fits(dataset, place)), None)
        if fit is not None:
            yield Known(number, dataset, place, fit)


def _unquoted(name: str) -> str:
    """A table's name without what SQL writes around it and says nothing: backticks, and the catalog that is meant where none is named."""
    plain = "".join((found[1] or found[0]).replace("``", "`") for found in re.finditer(r"`((?:[^`]|``)+)`|[^`]+", name)) if _PARTS.fullmatch(name) else name
    return plain.removeprefix("spark_catalog.")


def _ends(whole: str, part: str) -> bool:
    """Whether a name ends with whole parts."""
    return whole.endswith(part) and (len(whole) == len(part) or part[:1] in "/." or whole[-len(part) - 1] in "/.") if part else False


def _ambiguous(name: str, found: Sequence[Known]) -> AmbiguousDatasetError:
    named = sorted(str(each.dataset) for each in found)
    more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    return AmbiguousDatasetError(f"{len(named):,} datasets are called so", value=without_secrets(name), remedy=f"Say more of it: {', '.join(named[:_SHOWN])}{more}.")


def _near(db: sqlite3.Connection, name: str) -> str:
    labels = [label for (label,) in db.execute("SELECT DISTINCT label FROM dataset WHERE kind NOT IN ('memory', 'cache') ORDER BY label LIMIT 20000")]
    said = last_part(name).lower()[:_LONGEST]
    near = get_close_matches(said, labels, 5)
    near = near or [label for label in labels if said and said in label][:5]
    return f"Do you mean {', '.join(near)}?" if near else "dbg.datasets.find(), or bigdebug datasets list, has all that there are."
