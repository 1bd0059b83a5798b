"""Each error of linked runs says what to do about it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bigdebug
from bigdebug import errors

HOME = Path(bigdebug.__file__).parent
OURS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, errors.BigdebugError)}


@pytest.mark.parametrize("path", [path for part in ("trace", "spark") for path in sorted((HOME / part / "across").glob("*.py"))], ids=lambda path: path.stem)
def test_errors_have_remedies(path: Path) -> None:
    made = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OURS]
    assert [f"{path.name}:{node.lineno}" for node in made if not any(each.arg == "remedy" for each in node.keywords)] == []
