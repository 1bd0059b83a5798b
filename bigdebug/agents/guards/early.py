"""Early: the first crash of a task, where the driver finds it before the task has come to its end."""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bigdebug.agents.guards.noted import Noted
from bigdebug.store.blocks import write_whole


@dataclass(frozen=True)
class Early:
    """A directory of the lineage store, made by the driver, with a file for each task that something crashed in."""

    folder: str

    def tell(self, split: int, crashes: Noted) -> None:
        """Tell what crashed first; if that cannot be written, or the driver would not see it, it is told in the end."""
        with suppress(OSError):
            if os.path.isdir(self.folder):
                write_whole(Path(self.folder), str(split), pickle.dumps(crashes))

    def told(self, split: int) -> Noted | None:
        """What a task has told, if it has."""
        try:
            crashes: Noted = pickle.loads(Path(self.folder, str(split)).read_bytes())
        except OSError:
            return None
        return crashes
