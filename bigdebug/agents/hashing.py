"""PySpark's hash of keys, faster: the same numbers, so that records go where PySpark sends them.

PySpark asks the environment at every key, and at every part of one, whether string hashing is seeded. In a worker it
always is: PySpark itself sets the seed for all of them.
"""

from __future__ import annotations

import sys
from typing import Any

_START, _FACTOR, _MASK = 0x345678, 1000003, sys.maxsize


def portable_hash(key: Any) -> int:
    """The integer that PySpark's ``portable_hash`` gives for ``key`` in the same process."""
    if isinstance(key, tuple):
        mixed = _START
        for part in key:
            mixed = ((mixed ^ (hash(part) if type(part) is str else portable_hash(part))) * _FACTOR) & _MASK
        mixed ^= len(key)
        return -2 if mixed == -1 else mixed
    return 0 if key is None else hash(key)
