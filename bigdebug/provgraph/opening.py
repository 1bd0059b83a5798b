"""Whether a directory holds a provenance graph."""

from __future__ import annotations

import os

from bigdebug.store.named import at_home

MANIFEST = "provenance.json"
"""The file that a directory with an index has, and is written last."""


def holds_graph(path: str | os.PathLike[str]) -> bool:
    """Whether ``bigdebug.provenance`` built a graph there. What is no path holds none."""
    return isinstance(path, (str, os.PathLike)) and os.path.exists(os.path.join(at_home(path), MANIFEST))  # Path.exists raises where nobody may look
