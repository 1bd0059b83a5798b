"""The law of the spool: of each run what was laid down comes out, in order, to one process at a time, until it was taken or refused."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bigdebug.datasets.spool import Claim, Spool

LEASE = 10.0
RUNS = st.sampled_from(["a", "b"])
WHO = st.integers(0, 1)


class SpoolLaw(RuleBasedStateMachine):
    """Two processes (each with the file open for itself) and a clock, beside a model: a list for each run."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.spools = [Spool(Path(self.folder.name) / "spool") for _ in range(2)]
        self.now = 1_000.0
        self.count = 0
        self.waiting: dict[str, list[bytes]] = {"a": [], "b": []}
        self.refused: dict[str, list[bytes]] = {"a": [], "b": []}
        self.claims: dict[int, tuple[str, Claim]] = {}
        self.leased = {"a": 0.0, "b": 0.0}

    @rule(who=WHO, run=RUNS)
    def put(self, who: int, run: str) -> None:
        body = f"{run}{self.count}".encode()
        self.count += 1
        assert self.spools[who].put("c", run, [(str(self.count), body)])
        self.waiting[run].append(body)

    @rule(who=WHO)
    def claim(self, who: int) -> None:
        if who in self.claims:
            return
        free = {run for run, bodies in self.waiting.items() if bodies and self.leased[run] <= self.now}
        claim = self.spools[who].claim("c", self.now, LEASE)
        if claim is None:
            assert not free
            return
        bodies = [message.body for message in claim.messages]
        (run,) = {chr(body[0]) for body in bodies}
        assert run in free
        assert bodies == self.waiting[run][: len(bodies)]
        self.claims[who] = (run, claim)
        self.leased[run] = claim.until

    @rule(who=WHO, taken=st.integers(0, 3), refused=st.booleans())
    def send(self, who: int, taken: int, refused: bool) -> None:
        """Send some of what was claimed; who comes too late sends nothing."""
        run, claim = self.claims.pop(who, ("", None))
        if claim is None:
            return
        late = self.now >= claim.until
        for message in () if late else claim.messages[:taken]:
            self.waiting[run].remove(message.body)
            if refused:
                self.spools[who].refused(message, "no")
                self.refused[run].append(message.body)
            else:
                self.spools[who].taken(message)
        self.spools[who].release(claim, self.now, failed=taken == 0)
        if self.leased[run] == claim.until:
            self.leased[run] = 0.0

    @rule(seconds=st.sampled_from([1.0, LEASE]))
    def wait(self, seconds: float) -> None:
        """Time goes by; whoever had claimed something longer ago has ended, or is too late."""
        self.now += seconds

    @rule(who=WHO)
    def again(self, who: int) -> None:
        self.spools[who].again("c")
        for run, bodies in self.refused.items():
            self.waiting[run] = sorted([*self.waiting[run], *bodies], key=lambda body: int(body[1:]))
            bodies.clear()

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        """It ends in the middle of what it did, and what it had claimed stays claimed for a while."""
        self.spools[who].close()
        self.claims.pop(who, None)
        self.spools[who] = Spool(Path(self.folder.name) / "spool")

    @invariant()
    def nothing_is_lost(self) -> None:
        told = self.spools[0].waiting("c")
        with closing(sqlite3.connect(Path(self.folder.name) / "spool")) as file:
            counted = dict(file.execute("SELECT collector, bytes FROM queue")).get("c", 0)
        assert counted == sum(len(body) for bodies in (*self.waiting.values(), *self.refused.values()) for body in bodies)
        assert (told.messages, told.refused) == (sum(map(len, self.waiting.values())), sum(map(len, self.refused.values())))

    def teardown(self) -> None:
        for spool in self.spools:
            spool.close()
        self.folder.cleanup()


TestSpoolLaw = SpoolLaw.TestCase
TestSpoolLaw.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
