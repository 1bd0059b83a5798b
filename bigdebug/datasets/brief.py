"""Brief: datasets by the names that people call them by, ``features`` and ``weather.csv``, wherever no other one in the same table is called so."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLACE = re.compile(r"(?:^|(?<=\.))(?:[a-z][a-z0-9+-]*:|/).*/.*$", re.DOTALL)
"""A dataset, whole or at the end of the name of a job: a URI, a path, what a session made."""


def brief(texts: Iterable[str]) -> dict[str, str]:
    """Each text, a dataset or a job, with as few of the last parts of its dataset as tell it from the others of the texts."""
    places = {text: found[0] for text in texts if (found := _PLACE.search(text)) is not None}
    called = dict.fromkeys(places.values(), 1)
    while True:
        names = {place: "/".join(place.split("/")[-count:]) for place, count in called.items()}
        known: dict[str, list[str]] = {}
        for place, name in names.items():
            known.setdefault(name, []).append(place)
        alike = [place for several in known.values() if len(several) > 1 for place in several if names[place] != place]
        if not alike:
            return {text: text.removesuffix(place) + names[place] for text, place in places.items()}
        for place in alike:
            called[place] += 1
