"""The IPython extension: magics while it is loaded, and the user's ``sc`` seen with lineage."""

from __future__ import annotations

from typing import Any

from bigdebug_kernel.magics import LineageMagics


class Extension:
    """One shell's bigdebug. Nothing of it is left after ``unload``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._magics = LineageMagics(shell, self.session)
        self._replaced: dict[str, Any] = {}
        self._session: Any = None

    def load(self) -> None:
        self._shell.register_magics(self._magics)
        self._shell.events.register("post_run_cell", self._after_cell)
        self._after_cell(None)

    def unload(self) -> None:
        self._shell.events.unregister("post_run_cell", self._after_cell)
        for kind in ("line", "cell"):
            self._shell.magics_manager.magics[kind].pop("lineage", None)
        names = self._shell.user_ns
        for name, (theirs, ours) in self._replaced.items():
            if names.get(name) is ours:
                if theirs is None:
                    del names[name]
                else:
                    names[name] = theirs
        self._replaced.clear()
        if self._session is not None:
            self._session.detach()
            self._session = None

    def session(self) -> Any:
        """The debug session of the Spark session that is running, or None."""
        from bigdebug.session import active_session

        current = active_session()
        if current is not self._session:
            self._session = current
        return current

    def _after_cell(self, result: Any) -> None:
        """See that the context a cell has just made, or named again, is the one with lineage."""
        session = self.session()
        if session is None:
            return
        names = self._shell.user_ns
        plain, ours = session.plain_context, session.context
        for name, value in list(names.items()):
            if value is plain and not name.startswith("_"):
                self._put(name, plain, ours)
        for name, value in (("sc", ours), ("dbg", session)):
            if name not in names or (name in self._replaced and self._replaced[name][1] is names[name]):
                self._put(name, self._replaced.get(name, (None, None))[0], value)

    def _put(self, name: str, theirs: Any, ours: Any) -> None:
        self._replaced[name] = (theirs, ours)
        self._shell.user_ns[name] = ours
