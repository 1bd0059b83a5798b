"""Memory: how much of it the driver gives to lineage that was read."""

from __future__ import annotations

import os
import re

from bigdebug.errors import StoreError

MEMORY = "BIGDEBUG_MEMORY"
"""The variable of the environment that says it, as Spark writes sizes: 512m, 2g."""

_DEFAULT = 512 << 20
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)b?", re.IGNORECASE | re.ASCII)


def most_bytes() -> int:
    """Bytes that a store keeps of blocks, as BIGDEBUG_MEMORY says; 512 MB if it says nothing. Raises StoreError for what is no size."""
    said = os.environ.get(MEMORY, "").strip()
    if not said:
        return _DEFAULT
    if (match := _SIZE.fullmatch(said)) is None:
        raise StoreError(f"The variable {MEMORY} of the environment says no size", value=said, remedy="Write it as Spark writes sizes: 512m or 2g.")
    return int(match[1]) << _UNITS[match[2].lower()]
