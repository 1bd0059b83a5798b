"""Expressions: what a word of a magic says of records: a function of the user's, an expression over ``r``, or, of rows of a DataFrame, SQL."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from bigdebug.shown import plain
from bigdebug_kernel.asking import is_trace

Function = Callable[..., Any]

_CHECKS = "checks"
"""What comes with bigdebug is there without an import, unless the user calls something else so."""


def function(text: str, names: dict[str, Any], said: str, record: str = "r") -> Function:
    """The function that ``text`` says: one of the user's, a lambda, or an expression over the ``record``. ``said`` is where it stands, for errors.

    Raises UsageError for what Python cannot read, and for what is the same for every record.
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise UsageError(plain(f"{said} {text}: {problem.msg}")) from None
    if not isinstance(body, ast.Lambda) and _speaks_of(body, record):
        text = f"lambda {record}: ({text})"
    value = _value(text, names, said)
    if not callable(value):
        raise UsageError(plain(f"{said} {text} is the same for every record: write an expression over {record}, or name a function"))
    return value  # type: ignore[no-any-return]


def condition(trace: Any, text: str, names: dict[str, Any], said: str) -> Any:
    """What a trace's ``where`` takes: for rows of a DataFrame the text is SQL, unless it speaks of ``r`` or of checks, or names a function or a Column of the user's.

    Raises UsageError where it could be a column as well as a function.
    """
    if not _of_rows(trace):
        return function(text, names, said)
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text
    if isinstance(body, ast.Name) and body.id in names and (callable(names[body.id]) or _is_column(names[body.id])):
        if body.id in trace.run.frame.columns:
            raise UsageError(plain(f"{said} {text} is a column of the rows and a variable of this notebook: write r.{body.id}, or {body.id} = true"))
        return names[body.id]
    spoken = isinstance(body, ast.Lambda) or _speaks_of(body, "r") or (_CHECKS not in trace.run.frame.columns and _speaks_of(body, _CHECKS))
    return function(text, names, said) if spoken else text


def meant(trace: Any, text: str, names: dict[str, Any], said: str) -> Any:
    """Outputs that somebody means: a variable with a trace, or with keys in a list or a set; or a ``condition``."""
    value = names.get(text.strip())
    return value if is_trace(value) or isinstance(value, list | tuple | set | frozenset) else condition(trace, text, names, said)


def key(text: str, names: dict[str, Any], said: str) -> Any:
    """The key of an output: an expression over ``r``, a function, or fields by name or number, with commas between them."""
    fields = [field.strip() for field in text.split(",")]
    named = [int(field) if field.lstrip("-").isdecimal() else field for field in fields]
    if callable(names.get(text.strip())) or not all(isinstance(field, int) or field.isidentifier() for field in named) or "r" in named:
        return function(text, names, said)
    return named[0] if len(named) == 1 else named


def _value(text: str, names: dict[str, Any], said: str) -> Any:
    """What the text is in the notebook. Raises UsageError for what Python raises."""
    from bigdebug.agents import checks

    try:
        return eval(compile(text.strip(), f"<{said} {text.strip()}>", "eval"), names, {} if _CHECKS in names else {_CHECKS: checks})
    except Exception as problem:  # it is the user's expression
        raise UsageError(plain(f"{said} {text}: {type(problem).__name__}: {problem}")) from None


def _speaks_of(body: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(body))


def _of_rows(trace: Any) -> bool:
    from bigdebug.spark.sql.lineage_frame import LineageFrame

    return isinstance(trace, LineageFrame)


def _is_column(value: Any) -> bool:
    return type(value).__name__ == "Column" and type(value).__module__.startswith("pyspark.")
