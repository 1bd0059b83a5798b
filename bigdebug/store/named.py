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
    if isinstance(store, str) and _URI_LIKE.search(store) and not store.lower().startswith("file:"):
        raise ValueError(f"the store of bigdebug.attach has blanks around it, or is no URI though it looks like one; {_REMEDY}")
    drive = "*" if isinstance(store, str) else "+"  # which a path may begin with
    if store is None or not re.match(rf"[A-Za-z][\w+.-]{drive}:/", os.fspath(store)):
        if options:
            raise ValueError("store_options are those of a store that a URI names, as s3://bucket/path")
        if store is not None and (not os.fspath(store) or "\0" in os.fspath(store)):
            raise ValueError(f"the store of bigdebug.attach is a directory of this machine or a URI, not {store!r}; {_REMEDY}")
        return None if store is None else at_home(store)
    uri = os.fspath(store)
    if uri.lower().startswith("file:"):
        return _file(uri, options)
    try:
        return Address(uri, dict(options or {}))
    except ValueError as problem:
        raise ValueError(f"the store of bigdebug.attach is a directory of this machine or a URI, and this is neither: {problem}") from None


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
    given = os.fspath(path)
    is_file = given.lower().startswith("file:")
    if not given or not _can_be(given):
        raise StoreError(f"{what} is a directory of this machine, and {given!r} names none", remedy="Give its path.")
    if isinstance(path, str) and _URI_LIKE.search(given) and not is_file:
        raise StoreError(f"{what} is a directory of this machine, and this has blanks around it, or is no URI though it looks like one", remedy="Give its path.")
    if re.match(r"[A-Za-z][\w+.-]+:/", given) is None:
        return at_home(path)
    try:
        if is_file:
            return _file(given, None)
        why = f"and this is a URI of {given.partition(':')[0]}"
    except ValueError as problem:
        why = f"and {problem}"
    raise StoreError(f"{what} is a directory of this machine, {why}", remedy="Name a directory here, and copy it from there or to there.")


def _can_be(path: str) -> bool:
    """Whether a file can be called so: no name has a zero byte in it, nor what no encoding has."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _file(uri: str, options: Mapping[str, Any] | None) -> Path:
    parts = urlsplit(uri)
    if options or parts.netloc not in ("", "localhost") or parts.query or parts.fragment or not parts.path.strip("/") or "\0" in uri:
        raise ValueError("a file URI names a directory of this machine, and takes no options: file:///data/lineage")
    return Path(url2pathname(parts.path))
