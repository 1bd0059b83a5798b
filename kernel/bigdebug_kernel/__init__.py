"""The Jupyter side of bigdebug: IPython extension, magics, comms, crash display."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Load the magics and put ``sc`` and ``dbg`` in place; loading twice is loading once."""
    from bigdebug_kernel.extension import Extension

    if getattr(shell, "_bigdebug", None) is None:
        shell._bigdebug = Extension(shell)
        shell._bigdebug.load()


def unload_ipython_extension(shell: Any) -> None:
    """Take everything away again; the user's own names stay as they are."""
    extension = getattr(shell, "_bigdebug", None)
    if extension is not None:
        extension.unload()
        del shell._bigdebug
