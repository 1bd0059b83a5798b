"""Zipf text: what Titian (5.1, after RAMP) runs grep and word count on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.ragged import Ids, Pool, Zipf, evenly, strings

SEED = 8000
VOCABULARY = 8_000
CHUNK = 1_000_000


def vocabulary() -> list[str]:
    """The 8,000 terms, most frequent first; always the same, all distinct."""
    draws = np.random.default_rng(SEED)
    drawn = dict.fromkeys(strings(draws, 2 * VOCABULARY, 3, 9))
    return [term.decode() for term in list(drawn)[:VOCABULARY]]


def write(path: Path, words: int) -> None:
    """Write ``words`` words in lines of 5 to 15, separated by one space: about 7 bytes a word."""
    terms = [term.encode() for term in vocabulary()]
    Pool([term + b" " for term in terms] + [term + b"\n" for term in terms]).write(path, _ids(words))


def _ids(words: int) -> Iterator[Ids]:
    """Term by term; the last one of a line is the term's second form, with a newline."""
    draws = np.random.default_rng([SEED, 1])
    zipf = Zipf(VOCABULARY)
    for start in range(0, words, CHUNK):
        ids = zipf.draw(draws, min(CHUNK, words - start))
        ends = np.cumsum(evenly(draws, 5, 16, len(ids) // 5 + 1)) - 1
        ids[ends[ends < len(ids)]] += VOCABULARY
        ids[-1] = ids[-1] % VOCABULARY + VOCABULARY
        yield ids
