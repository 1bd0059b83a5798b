"""Paths of files: what two names of one file have in common, and a name as messages have it."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from bigdebug.trace.across.located import ITEMS
from bigdebug.trace.textlines import local_path

_S3 = re.compile("^s3[an]://", re.IGNORECASE)


@lru_cache(1 << 18)
def key_of(path: str) -> str:
    """What two names of the same file have in common: the absolute path of a local one, behind all symbolic links; a URI as it is, but for the names that S3 has."""
    here = local_path(path)
    if here is None or path.startswith(ITEMS):
        return _S3.sub("s3://", path)
    return os.path.realpath(here) if os.path.isabs(here) else os.path.normpath(here)


def short(path: str) -> str:
    """The name of a file as messages have it."""
    return path.removeprefix(ITEMS) if path.startswith(ITEMS) else path.rstrip("/").rpartition("/")[2] or path
