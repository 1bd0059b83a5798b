"""Ready names: in the kernel of ours ``spark``, ``sc`` and ``dbg`` are there, and Spark starts with the first cell that uses one of them.

An IPython extension of its own, which the kernelspec loads: in any other kernel ``%load_ext bigdebug`` waits for the session that the user makes.
"""

from __future__ import annotations

import logging
import symtable
from collections.abc import Iterator
from typing import Any

from bigdebug.spark.starting import started

log = logging.getLogger("bigdebug")

NAMES = frozenset(("spark", "sc", "dbg"))


def load_ipython_extension(shell: Any) -> None:
    """Load bigdebug, and have the names ready; loading twice is loading once."""
    shell.extension_manager.load_extension("bigdebug")
    if getattr(shell, "_bigdebug_ready", None) is None:
        shell._bigdebug_ready = Ready(shell)
        shell.events.register("pre_run_cell", shell._bigdebug_ready.before_cell)


def unload_ipython_extension(shell: Any) -> None:
    ready = getattr(shell, "_bigdebug_ready", None)
    if ready is not None:
        shell.events.unregister("pre_run_cell", ready.before_cell)
        del shell._bigdebug_ready


class Ready:
    """Starts Spark for one shell, while bigdebug is loaded in it."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def before_cell(self, info: Any) -> None:
        """See that what a cell uses of the names is there before it runs. A cell that makes a session of its own uses none."""
        extension, names = getattr(self._shell, "_bigdebug", None), self._shell.user_ns
        if extension is None or not (read := used(self._code(info)) - names.keys()):
            return
        try:
            session = started()
        except Exception as trouble:  # the cell says which name it misses
            log.warning("bigdebug could not start Spark: %s", trouble)
            return
        if "spark" in read:
            names["spark"] = session
        extension.join()

    def _code(self, info: Any) -> str:
        code = getattr(info, "transformed_cell", None)
        return str(self._shell.transform_cell(info.raw_cell) if code is None else code)


def used(code: str) -> frozenset[str]:
    """Those of the names that a cell reads and does not make itself; none, if it is no Python."""
    try:
        table = symtable.symtable(code, "cell", "exec")
    except (SyntaxError, ValueError):
        return frozenset()
    made = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return frozenset(NAMES & {*_read(table)} - made)


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    """The names of the module that a scope, or one within it, reads."""
    module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (module or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _read(child)
