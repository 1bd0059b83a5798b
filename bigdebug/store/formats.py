"""Formats: of directories that another bigdebug may have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bigdebug.errors import StoreVersionError


def check_format(version: Any, known: int, home: Path, what: str, who: str) -> None:
    """Whether a directory is of a format up to the one that is ``known``: "session was saved", by the bigdebug that "wrote" it. Raises ValueError for what
    never was a format, StoreVersionError for a later one.
    """
    if type(version) is not int or version < 1:
        raise ValueError(f"format {version!r} never was")
    if version > known:
        raise StoreVersionError(
            f"The {what} in format {version} and this bigdebug reads up to {known}", value=str(home),
            remedy=f"Open it with the bigdebug that {who} it, or a newer one.",
        )
