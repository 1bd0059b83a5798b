"""Pure functions of Python's own: those that change nothing, and answer the same each time that they are called on the same."""

from __future__ import annotations

import re
import sys
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from bigdebug.agents.guards.held import PLAIN

_PURE = {
    "ast": "literal_eval",
    "base64": "b64decode b64encode b32decode b32encode b16decode b16encode urlsafe_b64decode urlsafe_b64encode",
    "binascii": "hexlify unhexlify crc32",
    "builtins": "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hash hex int isinstance issubclass iter len "
    "list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple type zip",
    "calendar": "timegm",
    "collections": "Counter OrderedDict defaultdict deque",
    "csv": "reader DictReader",
    "datetime": "date date.fromisoformat date.fromordinal datetime datetime.combine datetime.fromisoformat datetime.fromordinal datetime.strptime time "
    "time.fromisoformat timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "functools": "reduce",
    "hashlib": "openssl_md5 openssl_sha1 openssl_sha256",
    "html": "escape unescape",
    "ipaddress": "ip_address ip_network",
    "itertools": "accumulate chain chain.from_iterable compress dropwhile filterfalse groupby islice pairwise product repeat starmap takewhile zip_longest",
    "json": "loads dumps",
    "json.decoder": "JSONDecodeError",
    "posixpath": "basename dirname join split splitext normpath",
    "pyspark.sql.types": "Row",
    "re": "compile escape findall finditer fullmatch match search split sub subn",
    "struct": "calcsize pack unpack unpack_from",
    "unicodedata": "category name normalize",
    "urllib.parse": "parse_qs parse_qsl quote quote_plus unquote unquote_plus urlparse urlsplit",
    "zlib": "adler32 compress crc32 decompress",
}
_NAMES = {module: frozenset(names.split()) for module, names in _PURE.items()}
_WHOLE = ("math", "operator")
"""Modules all of whose functions are pure. (Those that set items are seen where they do.)"""

_SETTING = ("setitem", "delitem", "iadd", "iconcat", "iand", "ior", "isub", "ixor")


def is_pure(value: Any) -> bool:
    """Whether a value is a function, a method or a class that is known to be pure."""
    if isinstance(value, MethodDescriptorType | WrapperDescriptorType):
        return value.__objclass__ in PLAIN
    if isinstance(value, type) and issubclass(value, BaseException) and _raises_plainly(value):
        return True
    if not isinstance(value, type | FunctionType | BuiltinFunctionType | BuiltinMethodType | MethodType):
        return False
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType | type):
        return type(owner) in PLAIN or isinstance(owner, re.Pattern)
    home, name = (value, value.__qualname__) if not isinstance(owner, type) else (owner, f"{owner.__qualname__}.{value.__name__}")
    for module in (str(home.__module__), str(home.__module__).lstrip("_")):
        if name in _NAMES.get(module, ()) or (module in _WHOLE and name not in _SETTING):
            return _is_at(value, module, name)
    return False


def _is_at(value: Any, module: str, name: str) -> bool:
    """Whether a value is what a module has under its name: others may say that they are it."""
    found: Any = sys.modules.get(module)
    if module == "hashlib":
        name = name.removeprefix("openssl_")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value or (isinstance(value, BuiltinMethodType | MethodType) and found == value)


def _raises_plainly(kind: type[BaseException]) -> bool:
    """Whether nothing of the user's runs when an exception is made."""
    return all(base.__module__ == "builtins" or not {"__init__", "__new__", "__init_subclass__"} & vars(base).keys() for base in kind.__mro__)
