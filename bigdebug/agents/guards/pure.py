"""Pure functions of Python's own: those that change nothing, and answer the same each time that they are called on the same.

Not those of ``decimal`` and ``fractions`` (how they round is the context's), and of no class that also tells the time, unless by the name of a method.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Sequence
from datetime import datetime, time, timezone
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

from bigdebug.agents.guards.held import PLAIN

CONSTANT = PLAIN - {Decimal}
"""Types of which nothing changes, and whose methods only answer. What a Decimal gives, its context rounds."""

_PURE = {
    "ast": "literal_eval",
    "base64": "b64decode b64encode b32decode b32encode b16decode b16encode urlsafe_b64decode urlsafe_b64encode",
    "binascii": "hexlify unhexlify crc32",
    "builtins": "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hash hex int isinstance issubclass iter len "
    "list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple zip",
    "calendar": "timegm",
    "collections": "Counter OrderedDict defaultdict deque",
    "datetime": "timedelta",
    "functools": "reduce",
    "hashlib": "openssl_md5 openssl_sha1 openssl_sha256",
    "html": "escape unescape",
    "ipaddress": "ip_address ip_network",
    "itertools": "accumulate chain compress dropwhile filterfalse groupby islice pairwise product repeat starmap takewhile zip_longest",
    "json": "loads dumps",
    "json.decoder": "JSONDecodeError",
    "posixpath": "basename dirname join split splitext normpath",
    "re": "compile escape findall finditer fullmatch match search split sub subn",
    "struct": "calcsize pack unpack unpack_from",
    "unicodedata": "category name normalize",
    "urllib.parse": "parse_qs parse_qsl quote quote_plus unquote unquote_plus urlparse urlsplit",
    "zlib": "adler32 compress crc32 decompress",
}
_NAMES = {module: frozenset(names.split()) for module, names in _PURE.items()}
_WHOLE = ("math", "operator")
"""Modules all of whose functions are pure but those that set items, and those that make what looks for attributes."""

_EXCEPT = frozenset(("attrgetter", "call", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub", "itruediv", "ixor", "methodcaller", "setitem"))

_METHODS = {
    "date": frozenset(("fromisoformat", "fromordinal")),
    "datetime": frozenset(("combine", "fromisoformat", "fromordinal")),
    "time": frozenset(("fromisoformat",)),
}
"""Of classes of ``datetime`` that also tell the time."""

_SAID = frozenset(("__module__", "__doc__", "__weakref__", "__dict__", "__qualname__", "__firstlineno__", "__static_attributes__"))


def is_constant(value: Any) -> bool:
    """Whether nothing of a value changes, and its methods only answer, those of its time zone included."""
    if type(value) in (tuple, frozenset):
        return all(map(is_constant, value))
    if type(value) in (datetime, time):
        return value.tzinfo is None or type(value.tzinfo) is timezone
    return type(value) in CONSTANT or isinstance(value, re.Pattern | operator.itemgetter)


def is_pure(value: Any) -> bool:
    """Whether a value is a function, a method or a class that is known to be pure."""
    if isinstance(value, MethodDescriptorType):
        return value.__objclass__ in CONSTANT
    if isinstance(value, type) and issubclass(value, BaseException) and _only_is(value):
        return True
    if not isinstance(value, type | FunctionType | BuiltinFunctionType):
        return False
    owner = getattr(value, "__self__", None) if isinstance(value, BuiltinFunctionType) else None
    if owner is not None and not isinstance(owner, ModuleType):
        return type(owner) in CONSTANT or isinstance(owner, re.Pattern)
    name = value.__name__
    for module in (str(value.__module__), str(value.__module__).lstrip("_")):
        if name in _NAMES.get(module, ()) or (module in _WHOLE and name not in _EXCEPT):
            return getattr(sys.modules.get(module), name.removeprefix("openssl_") if module == "hashlib" else name, None) is value
    return False


def pure_attribute(owner: Any, attributes: Sequence[str]) -> bool:
    """Whether attributes of a module, or of a class, lead to what is pure, or to a number or text of Python's own."""
    module = ""
    value: Any = owner
    for at, name in enumerate(attributes):
        last = at == len(attributes) - 1
        if isinstance(value, ModuleType):
            module = value.__name__
            value = vars(value).get(name)
        else:
            return last and isinstance(value, type) and _has_pure(value, name)
        if not isinstance(value, ModuleType | type):
            return last and (is_pure(value) or (type(value) in CONSTANT and module in ("math", "string")))
    return is_pure(value)


def _has_pure(kind: type, name: str) -> bool:
    if kind.__name__ in _METHODS and kind is getattr(sys.modules.get("datetime"), kind.__name__, None):
        return name in _METHODS[kind.__name__]
    return kind in CONSTANT and isinstance(vars(kind).get(name), MethodDescriptorType)


def _only_is(kind: type[BaseException]) -> bool:
    """Whether an exception of the user's is nothing but a name for one of Python's."""
    return all(base.__module__ == "builtins" or (type(base) is type and vars(base).keys() <= _SAID) for base in kind.__mro__)
