"""Brief: datasets by the names that people call them by, ``features`` and ``weather.csv``, wherever no other one in the same table is called so."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLACE = re.compile(r"(?:^|(?<=\.))(?:[a-z][a-z0-9+-]*:|/).*/.*$", re.DOTALL)
"""A dataset, whole or at the end of the name of a job: a URI, a path, what a session made."""


def brief(texts: Iterable[str]) -> dict[str, str]:
    """Each text, a dataset or a job, with as few of the last parts of its dataset as tell it from the others of the texts."""
    places = {text: found[0] for text in texts if (found := _PLACE.search(text)) is not None}
    parts = {place: place.removeprefix("file:").split("/") for place in places.values()}  # jobs are called by local paths, too
    called = dict.fromkeys(map(tuple, parts.values()), 1)
    while True:
        names = {whole: "/".join(whole[-count:]) for whole, count in called.items()}
        known: dict[str, list[tuple[str, ...]]] = {}
        for whole, name in names.items():
            known.setdefault(name, []).append(whole)
        alike = [whole for several in known.values() if len(several) > 1 for whole in several if called[whole] < len(whole)]
        if not alike:
            return {text: text.removesuffix(place) + names[tuple(parts[place])] for text, place in places.items()}
        for whole in alike:
            called[whole] += 1


def is_called(text: str, said: str) -> bool:
    """Whether a dataset or a job may be called so in some table: what stands before its dataset, and the last parts of that."""
    found = _PLACE.search(text)
    if found is None:
        return False
    before, place = text[: found.start()], found[0].removeprefix("file:")
    rest = said[len(before) :]
    return said.startswith(before) and (place == rest or place.endswith(f"/{rest}"))
