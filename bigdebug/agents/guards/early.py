"""Early: the first crash of a task, where the driver finds it before the task has come to its end."""

from __future__ import annotations

import os
import pickle
import tempfile
from contextlib import suppress
from dataclasses import dataclass

from bigdebug.agents.guards.noted import Noted


@dataclass(frozen=True)
class Early:
    """A directory of the lineage store with a file for each task that something crashed in."""

    folder: str

    def tell(self, split: int, crashes: Noted) -> None:
        """Tell what crashed first; if that cannot be written, it is told in the end."""
        with suppress(OSError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            handle, partial = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                pickle.dump(crashes, file)
            os.replace(partial, os.path.join(self.folder, str(split)))

    def told(self, split: int) -> Noted | None:
        """What a task has told, if it has."""
        try:
            with open(os.path.join(self.folder, str(split)), "rb") as file:
                crashes: Noted = pickle.load(file)
                return crashes
        except OSError:
            return None
