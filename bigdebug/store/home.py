"""Home: the directory of what outlives a session, private to its owner."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bigdebug.errors import StoreError

HOME = "BIGDEBUG_HOME"
"""The variable of the environment that names the directory, if it is to be another."""


def home() -> Path:
    """The directory of what outlives a session: BIGDEBUG_HOME, or where programs of this user keep their data. Raises StoreError for a user who has no directory."""
    try:
        return _home()
    except RuntimeError as problem:
        raise StoreError("This user has no home directory", value=str(problem), remedy=f"Name a directory by the variable {HOME} of the environment.") from problem


def _home() -> Path:
    if named := os.environ.get(HOME):
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "bigdebug"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "bigdebug"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "bigdebug"
