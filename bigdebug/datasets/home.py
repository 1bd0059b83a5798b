"""Home: where the store of datasets is, private to its owner."""

from __future__ import annotations

import os
from pathlib import Path

from bigdebug.errors import DatasetsError, StoreError
from bigdebug.store.home import HOME, home

RECORDING = "BIGDEBUG_DATASETS"
"""The variable that says whether what sessions do is recorded: ``on``, as if it were not there, or ``off``."""

REMEDY = f"Name a directory that you may write by {HOME}; what stands there is yours alone."

FILE = "datasets.sqlite"
"""What the store of datasets is called."""


def default_store() -> Path:
    """The file of the store of datasets."""
    return home() / FILE


def is_recorded() -> bool:
    """Whether what sessions do is to be recorded, as BIGDEBUG_DATASETS says. Raises DatasetsError for what says neither."""
    said = os.environ.get(RECORDING, "").strip().lower()
    if said not in ("", "on", "1", "true", "yes", "off", "0", "false", "no"):
        raise DatasetsError(f"{RECORDING} says neither that datasets are to be recorded nor that they are not", value=said, remedy="Set it to on or to off.")
    return said not in ("off", "0", "false", "no")


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
