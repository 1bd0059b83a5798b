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
    """What two names of the same file have in common: the absolute path of a local one, behind all symbolic links; a URI as it is, but for the names that S3 has.

    Kept until ``looked_at_anew``: links are led elsewhere.
    """
    here = local_path(path)
    if here is None or path.startswith(ITEMS):
        return _S3.sub("s3://", path)
    if not os.path.isabs(here):
        return os.path.normpath(here)
    folder, name = os.path.split(here)
    plain = os.path.join(_folder(folder), name)
    return os.path.realpath(here) if name in ("", ".", "..") or os.path.islink(plain) else plain


@lru_cache(1 << 14)
def _folder(path: str) -> str:
    return os.path.realpath(path)


def looked_at_anew() -> None:
    """From here on, keys are those of links as they now are."""
    key_of.cache_clear()
    _folder.cache_clear()


def short(path: str) -> str:
    """The name of a file as messages have it."""
    return path.removeprefix(ITEMS) if path.startswith(ITEMS) else path.rstrip("/").rpartition("/")[2] or path
