"""Processes that are sent, by tests and by the processes that these start: imports little, for these start often."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from uuid import UUID

from bigdebug.datasets.collectors import Collector
from bigdebug.datasets.model import Access, Dataset, Process
from bigdebug.datasets.openlineage import messages
from bigdebug.datasets.sending import Pace, Sender
from bigdebug.datasets.spool import Spool

BEGAN = datetime(2026, 11, 27, tzinfo=timezone.utc)
QUICK = Pace(first=0.01, longest=0.05)


def process(n: int, status: str = "succeeded") -> Process:
    """One that wrote something; another one for each number."""
    return Process(
        str(UUID(int=n)), f"job {n}", "write", "local-1", BEGAN, BEGAN + timedelta(seconds=n), status, writes=(Access(Dataset("file", f"/out/{n}"), "written"),),
    )


def sender(spool: Spool, url: str, deadline: float = 10.0, **options: str) -> Sender:
    """One that tries again soon."""
    return Sender(spool, Collector(url, messages, **options), deadline=deadline, pace=QUICK)


def wait(sender: Sender, until: int = 0) -> None:
    """Until so many messages wait, for 20 s at most."""
    end = time.monotonic() + 20
    while sender.status().waiting > until and time.monotonic() < end:
        time.sleep(0.01)
