"""Named: what a user says where a store is to be: a directory of this machine, or a URI with the options of its filesystem."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bigdebug.errors import StoreError
from bigdebug.store.filesystems import Address

_REMEDY = "name a directory that you may write, or a URI as s3://bucket/path, or leave it out for a temporary directory"

_URI_LIKE = re.compile(r"^\s|\s$|^(?![A-Za-z][\w+.-]+://).*://|^[A-Za-z][\w+.-]*//.*@", re.DOTALL)
"""A text that is neither a path nor a URI, by a slip: as a path it would be shown, with the keys that may be in it."""


def named(store: Any, options: Any = None) -> Path | Address | None:
    """Where a store is to be; None for a temporary one. Raises TypeError or ValueError for what names no place, without what may be secret in it."""
    if not isinstance(store, str | os.PathLike | None):
        raise TypeError(f"the store of bigdebug.attach is a directory of this machine or a URI, not {store!r}; {_REMEDY}")
    if not isinstance(options, Mapping | None) or not all(isinstance(name, str) for name in options or ()):
        raise TypeError(f"store_options are a dictionary of what the filesystem of the store takes, by name, not a {type(options).__name__}")
    try:
        found = None if store is None else _meant(store)
        if isinstance(found, str):
            return Address(found, dict(options or {}))
    except ValueError as problem:
        raise ValueError(f"the store of bigdebug.attach is a directory of this machine or a URI, and {problem}; {_REMEDY}") from None
    if options:
        raise ValueError("store_options are those of a store that a URI names, as s3://bucket/path")
    return found


def at_home(path: str | os.PathLike[str]) -> Path:
    """The path, with the home directory for a ~ at its beginning: else a directory of that name would be made, which nobody means."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # of a user whom nobody knows
        return Path(path)


def local(what: str, path: str | os.PathLike[str]) -> Path:
    """A directory of this machine, as a path or a file URI. Raises StoreError for other URIs, without what may be secret in them; else a directory s3: would be made.

    So it does for what names none: an empty text would be the directory that the process is in.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{what} is the path of a directory, not {path!r}")
    try:
        found = _meant(path)
    except ValueError as problem:
        raise StoreError(f"{what} is a directory of this machine, and {problem}", remedy="Give its path.") from None
    if isinstance(found, str):
        why = f"this is a URI of {found.partition(':')[0]}"
        raise StoreError(f"{what} is a directory of this machine, and {why}", remedy="Name a directory here, and copy it from there or to there.")
    return found


def _meant(place: str | os.PathLike[str]) -> Path | str:
    """The path of a directory of this machine, or the URI of a place elsewhere. Raises ValueError with why it is neither, without what may be secret in it."""
    given = os.fspath(place)
    if not given or not _can_be(given):
        raise ValueError("this names none: it is empty, or has what no name of a file has in it")
    is_file = given.lower().startswith("file:")
    if isinstance(place, str) and _URI_LIKE.search(given) and not is_file:
        raise ValueError("this has blanks around it, or is no URI though it looks like one")
    letters = "*" if isinstance(place, str) else "+"  # c:/a is a path, if it is said to be one
    if re.match(rf"[A-Za-z][\w+.-]{letters}:/", given) is None:
        return at_home(place)
    return _file(given) if is_file else given


def _can_be(path: str) -> bool:
    """Whether a file can be called so: no name has a zero byte in it, nor what no encoding has."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _file(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or not parts.path.strip("/"):
        raise ValueError("a file URI names a directory of this machine, as file:///data/lineage")
    return Path(url2pathname(parts.path))
