"""PigMix-shaped tables, tab-separated: page_views, users, power_users.

Columns, order, distributions, shares of nulls and the ratios of cardinality to rows are those of PigMix's own
generator at 10 M rows. Two things differ. Columns are separated by tabs, and page_info and page_links are shorter: a
row has some 250 bytes instead of 1,600. That makes both measures harder for us: less reading to hide behind, and less
input for the lineage to be compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.ragged import Draws, Ids, Pool, Zipf, evenly, strings

SEED = 1_600_000
CHUNK = 50_000
SECONDS_A_DAY = 86_400
NOISE = 2_000
"""Distinct values of the columns that no job looks into."""
POWER_USERS = 500

USERS_PER_VIEW, TERMS_PER_VIEW, ADDRESSES_PER_VIEW, REVENUES_PER_VIEW = 0.16, 0.18, 0.1, 0.01


def write_page_views(path: Path, rows: int) -> None:
    """user, action, timespent, query_term, ip_addr, timestamp, estimated_revenue, page_info, page_links."""
    draws = np.random.default_rng([SEED, 1])
    columns = [
        _Column(user_names(rows), nulls=0.07),
        _Column(_numbers(2), even=True),
        _Column(_numbers(20)),
        _Column(strings(draws, _share(rows, TERMS_PER_VIEW), 7, 13), nulls=0.20),
        _Column(_numbers(_share(rows, ADDRESSES_PER_VIEW))),
        _Column(_numbers(SECONDS_A_DAY)),
        _Column([b"%.4f" % (1e6 * value) for value in draws.random(_share(rows, REVENUES_PER_VIEW))], nulls=0.05),
        _Column(_maps(draws, 2, 8), even=True),
        _Column(_maps(draws, 6, 16), even=True, nulls=0.20),
    ]
    ends = [b"\t"] * (len(columns) - 1) + [b"\n"]
    pool = Pool([value + end for column, end in zip(columns, ends) for value in column.values])
    firsts = np.cumsum([0] + [len(column.values) for column in columns[:-1]])

    def chunks() -> Iterator[Ids]:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            cells = [first + column.draw(draws, count) for first, column in zip(firsts, columns)]
            yield np.stack(cells, axis=1).ravel()

    pool.write(path, chunks())


def write_users(path: Path, views: int) -> None:
    """name, phone, address, city, state, zip of each user of ``views`` page views, by name."""
    _write_people(path, sorted(user_names(views)), 2)


def write_power_users(path: Path, views: int) -> None:
    """The same of the first 500 users by name, as PigMix chooses them."""
    _write_people(path, sorted(user_names(views))[:POWER_USERS], 3)


def user_names(views: int) -> list[bytes]:
    """All users of a page_views table of ``views`` rows, the most active first."""
    return strings(np.random.default_rng([SEED, 0]), _share(views, USERS_PER_VIEW), 14, 26)


def _write_people(path: Path, names: list[bytes], stream: int) -> None:
    draws = np.random.default_rng([SEED, stream])
    widths = [(7, 13), (14, 26), (7, 13), (2, 2), (5, 5)]
    details = zip(*(strings(draws, len(names), *width) for width in widths))
    rows = [b"\t".join((name, *detail)) + b"\n" for name, detail in zip(names, details)]
    Pool(rows).write(path, [np.arange(len(rows))])


class _Column:
    """Values of a column and how they are drawn: by Zipf's law over them or evenly; null is the empty string."""

    def __init__(self, values: Iterable[bytes], even: bool = False, nulls: float = 0.0) -> None:
        self.values = [*values, b""]
        self._size = len(self.values) - 1
        self._zipf = None if even else Zipf(self._size)
        self._nulls = nulls

    def draw(self, draws: Draws, count: int) -> Ids:
        ids = evenly(draws, 0, self._size, count) if self._zipf is None else self._zipf.draw(draws, count)
        ids[draws.random(count) < self._nulls] = self._size
        return ids


def _share(rows: int, share: float) -> int:
    return max(1, round(rows * share))


def _numbers(count: int) -> Iterable[bytes]:
    return (b"%d" % number for number in range(count))


def _maps(draws: Draws, fewest: int, most: int) -> Iterator[bytes]:
    """Maps from letters to short strings, in one string."""
    for size in evenly(draws, fewest, most + 1, NOISE).tolist():
        yield b"\x03".join(b"%c\x04%b" % (97 + n, value) for n, value in enumerate(strings(draws, size, 7, 13)))
