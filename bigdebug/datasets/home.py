"""Home: where the store of datasets is, private to its owner."""

from __future__ import annotations

import os
from pathlib import Path

from bigdebug.errors import StoreError
from bigdebug.store.home import HOME, home

REMEDY = f"Name a directory that you may write by {HOME}; what stands there is yours alone."


def default_store() -> Path:
    """The file of the store of datasets."""
    return home() / "datasets.sqlite"


def make_private(path: Path) -> None:
    """See that there is a file at ``path`` that its owner alone can read, in a directory of the same kind if that has to be made.

    What SQLite puts beside it gets the mode that it has. Raises StoreError if it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        owner = os.stat(path)
        if hasattr(os, "getuid") and owner.st_uid == os.getuid() and owner.st_mode & 0o077:
            path.chmod(0o600)
    except OSError as problem:
        raise StoreError(f"The store of datasets cannot be made: {problem.strerror or problem}", value=str(path), remedy=REMEDY) from problem
