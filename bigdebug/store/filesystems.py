"""Filesystems: the one that a URI names, as pyarrow opens it, or fsspec for schemes that pyarrow does not know; and no secret of it in any text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

CONNECTING, WAITING = 3.0, 3.0
"""Seconds for a connection, and for a sign of life of a request, before it is tried again; three times in all: less than a call may take
(``remote.PATIENCE``), for a process does not end before a request that it left behind.
"""

_URI = re.compile(r"([A-Za-z][\w+.-]+)://(?:([^/@?]*)@)?([^/@?]*)(/[^?]*)?(?:\?(.*))?", re.DOTALL)
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}
"""Spark's names, and Hadoop's, for what pyarrow calls otherwise."""
_OPEN = {"region", "scheme", "endpoint_override", "endpoint_url"}
"""Options whose values are no secrets."""
_SHORTEST, _SHORTEST_NUMBER, _SHORTEST_PART = 3, 6, 8
"""Characters of a secret that is looked for in texts; digits of a number, for shorter ones are ports and seconds; characters of the b of an a=b in a secret,
as in connection strings, for shorter ones are versions and protocols.
"""
_PORTLESS = {"s3", "gs", "abfss"}
"""Filesystems whose hosts have no port: behind a colon there stands a key."""
_WRITTEN = (
    "a / or @ in the keys of a URI is written %2F or %40, and an @ at the beginning of its path, too; or give keys by store_options={...}, "
    "and so the port of a server that keeps buckets"
)


@dataclass(frozen=True, repr=False)
class Address:
    """A URI, and options for the filesystem that it names. Both may hold secrets: ``shown`` has none, nor has the repr.

    Raises ValueError, without them, for what is no URI.
    """

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if _URI.fullmatch(self.uri) is None:
            raise ValueError(_WRITTEN if "@" in self.uri else "a URI has a scheme and a path: s3://bucket/path")
        # What stands before an @ may be a key of which a / or @ was not written so: then the host, or the path, is a part of it.
        unfit = ":" if self.scheme in _PORTLESS else r":(?!\d+$)"
        if re.search(unfit, self._host) or re.match("[^/]*/?[^/]*@", f"{self._path}?{self._parts[4]}"):
            raise ValueError(_WRITTEN)

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def scheme(self) -> str:
        named = self._parts[0].lower()
        return _SAME.get(named, named)

    @cached_property
    def shown(self) -> str:
        """The URI without keys and query."""
        container = f"{self._keys[0]}@" if self.scheme == "abfss" and self._keys[0] else ""
        return f"{self.scheme}://{container}{self._host}{self._path.rstrip('/')}"

    def below(self, name: str) -> Address:
        """What has this name below it."""
        base, mark, query = self.uri.partition("?")
        return Address(f"{base.removesuffix(self._path)}{self._path.rstrip('/')}/{name}{mark}{query}", self.options)

    def is_below(self, parent: Address) -> bool:
        """Whether ``below`` made it of such an address: the same place, and the same keys and options, if any are given."""
        given = [(each._parts[1], each._parts[4], each.options) for each in (self, parent)]
        return self.shown.rpartition("/")[0] == parent.shown and (given[1] == ("", "", {}) or given[0] == given[1])

    def hidden(self, text: str) -> str:
        """The text with *** in the place of keys, and of what options say, however they are spelled there."""
        given = [*parse_qsl(self._parts[4]), *self.options.items(), ("", self._keys if self.scheme != "abfss" else self._keys[1])]
        secrets = {text for name, value in given if name not in _OPEN for text in _texts(value)}
        forms = {form for secret in secrets | {part for text in secrets for part in _parts_of(text)} for form in _spelled(secret)}
        for secret in sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True):
            text = text.replace(secret, "***")
        return re.sub(r"//[^/@\s]+:[^/@\s]*@", "//***@", text)

    def opened(self) -> tuple[Any, str]:
        """A filesystem of pyarrow's, and the path in it. Raises whatever it raises, and it may take its time."""
        if self.scheme in _OPENERS:
            return _OPENERS[self.scheme](self)
        try:
            fsspec = import_module("fsspec.core")
        except ImportError:
            raise ValueError(f"pyarrow knows no filesystem {self.scheme}://, and fsspec, which may, is not installed here") from None
        from pyarrow import fs

        found, path = fsspec.url_to_fs(self.uri, **self.options)
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path

    @cached_property
    def _parts(self) -> tuple[str, str, str, str, str]:
        match = _URI.fullmatch(self.uri)
        assert match is not None
        scheme, keys, host, path, query = match.groups("")
        return scheme, keys, host, path, query

    @property
    def _keys(self) -> tuple[str, str]:
        user, _, password = self._parts[1].partition(":")
        return user, password

    @property
    def _host(self) -> str:
        return self._parts[2]

    @property
    def _path(self) -> str:
        return self._parts[3]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, and numbers that are no ports or seconds."""
    match value:
        case str():
            yield value
        case bytes() | bytearray():
            yield bytes(value).decode(errors="replace")
            yield repr(bytes(value))[2:-1]
        case int() | float():
            yield from (text for text in [str(value)] if len(text) >= _SHORTEST_NUMBER)
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple() | AbstractSet():
            for each in value:
                yield from _texts(each)


def _parts_of(secret: str) -> Iterator[str]:
    """What a connection string says, or a token that is a query: errors show the parts in another order."""
    parts = (part.partition("=")[2] for part in re.split("[;&?]", secret))
    return (part for part in parts if len(part) >= _SHORTEST_PART)


def _spelled(secret: str) -> set[str]:
    """A secret as it is, as a URI spells it, as it is if that was from one, and as Python writes it."""
    return {secret, quote(secret, safe=""), quote(secret), unquote(secret), repr(secret)[1:-1]}


def _s3(address: Address) -> tuple[Any, str]:
    from pyarrow import fs

    given: dict[str, Any] = {"connect_timeout": CONNECTING, "request_timeout": WAITING, "allow_delayed_open": True, "background_writes": False}
    user, password = address._keys
    if user:
        given |= {"access_key": unquote(user), "secret_key": unquote(password)}
    given |= {**dict(parse_qsl(address._parts[4])), **address.options}
    # Of the environment's endpoint pyarrow would take the bucket for a part of the host.
    endpoint = given.pop("endpoint_override", None) or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        scheme, mark, host = endpoint.rpartition("://")
        given = {**({"scheme": scheme} if mark else {}), **given, "endpoint_override": host}
    elif "region" not in given and not any(name in os.environ for name in ("AWS_REGION", "AWS_DEFAULT_REGION")):
        given["region"] = fs.resolve_s3_region(address._host)
    return fs.S3FileSystem(**given), f"{address._host}{unquote(address._path)}"


def _gs(address: Address) -> tuple[Any, str]:
    from pyarrow import fs

    given = {"retry_time_limit": timedelta(seconds=3 * WAITING), **dict(parse_qsl(address._parts[4])), **address.options}
    return fs.GcsFileSystem(**given), f"{address._host}{unquote(address._path)}"


def _abfss(address: Address) -> tuple[Any, str]:
    from pyarrow import fs

    container, account = address._keys[0], address._host.partition(".")[0]
    if not address.options or not container:
        return fs.FileSystem.from_uri(address.uri)  # type: ignore[no-any-return]
    return fs.AzureFileSystem(**{"account_name": account, **address.options}), f"{container}{unquote(address._path)}"


def _hdfs(address: Address) -> tuple[Any, str]:
    from pyarrow import fs

    if not address.options:
        return fs.FileSystem.from_uri(address.uri)  # type: ignore[no-any-return]
    host, _, port = address._host.partition(":")
    return fs.HadoopFileSystem(**{"host": host or "default", "port": int(port or 0), **address.options}), unquote(address._path)


_OPENERS: Mapping[str, Callable[[Address], tuple[Any, str]]] = {"s3": _s3, "gs": _gs, "abfss": _abfss, "hdfs": _hdfs, "viewfs": _hdfs}
