"""The names ``sc`` and ``dbg`` in the user's namespace: put there, kept up to date, and given back."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any


class Names:
    """What bigdebug put into one shell's namespace. What the user's own cells assign is the user's."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._put: dict[str, Any] = {}

    def place(self, session: Any, result: Any) -> None:
        """Put ``sc`` and ``dbg`` where these names are free, and the LineageContext wherever the plain one is named.

        ``result`` is what IPython says of the cell that has just run; a name that it assigned is from now on the user's.
        """
        names = self._shell.user_ns
        for name in _assigned(result) & self._put.keys():
            del self._put[name]
        plain, ours, own = session.plain_context, session.context, self._own()
        for name in [name for name, value in names.items() if value is plain and name not in own]:
            names[name] = ours
        for name, value in (("sc", ours), ("dbg", session)):
            if name not in names or (name in self._put and names[name] is self._put[name]):
                names[name] = self._put[name] = value

    def restore(self, sessions: Iterable[Any]) -> None:
        """Take away what was put, and name the plain contexts again wherever the user named the others."""
        self._shell.drop_by_id(self._put)
        self._put.clear()
        plain = {id(session.context): session.plain_context for session in sessions}
        names, own = self._shell.user_ns, self._own()
        for name in [name for name, value in names.items() if id(value) in plain and name not in own]:
            names[name] = plain[id(names[name])]

    def _own(self) -> set[str]:
        """IPython's own names: the results of earlier cells stay what they were."""
        return {"_", "__", "___", *(f"_{number}" for number in self._shell.user_ns.get("_oh", ()))}


def _assigned(result: Any) -> set[str]:
    """The names that a cell assigns, as far as its text tells."""
    code = getattr(getattr(result, "info", None), "transformed_cell", None)
    try:
        tree = ast.parse(code or "")
    except (SyntaxError, ValueError):
        return set()
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imported = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return stored | imported
