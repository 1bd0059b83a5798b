"""Open captures: which of them an action belongs to. Several may be open, in one thread or in several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakSet

from bigdebug.graph import Operator
from bigdebug.trace.run import Run


@dataclass(frozen=True)
class OpenCapture:
    """What captures the actions of a block: the name of their runs, where lineage lives, who is told of each run."""

    name: str | None = None
    strategy: str = "auto"
    told: tuple[Callable[[Run], None], ...] = ()
    alone: bool = False
    own: bool = False
    """Whether it captures what its own thread does, and nothing of others."""
    policy: str | None = None
    """What becomes of records that crash (``agents/guards/policy.py``); without one, the action fails."""
    fitted: Callable[[Iterable[Operator]], str] | None = None
    """The same for the operators of an action, if what is said in ``policy`` names those of another one."""
    thread: int = field(default_factory=threading.get_ident)
    older: WeakSet[threading.Thread] = field(default_factory=lambda: WeakSet(threading.enumerate()), compare=False)
    """The threads that ran before it was opened: what becomes of their records is not for who opened it to say."""

    def note(self, run: Run) -> None:
        for tell in self.told:
            tell(run)


class Captures:
    """An action belongs to the capture that its own thread opened last; else to the one that was opened last at all.

    So the threads that a block starts are captured with it, and blocks in several threads do not mix. What becomes of records that crash is said
    for the thread of the block, and for those that began while it was open: a job of another one would lose records, and nobody asked for that. Thread-safe.
    """

    def __init__(self) -> None:
        self.always = False
        self._open: tuple[OpenCapture, ...] = ()
        self._changing = threading.Lock()
        self._plain = OpenCapture()

    def current(self) -> OpenCapture | None:
        """The capture of an action that begins now in this thread; None if it is not captured."""
        here = threading.get_ident()
        every = self._open
        mine = [capture for capture in every if capture.thread == here]
        known = [capture for capture in every if not (capture.alone or capture.own)]
        if mine:
            return mine[-1]
        if known:
            me = threading.current_thread()
            return replace(known[-1], policy=next((capture.policy for capture in reversed(known) if me not in capture.older), None))
        return self._plain if self.always else None

    def end(self) -> None:
        """Capture nothing more, whatever is open."""
        with self._changing:
            self.always = False
            self._open = ()

    @contextmanager
    def opened(self, name: str | None, strategy: str, tell: Callable[[Run], None], policy: str | None = None, own: bool = False) -> Iterator[None]:
        """Within: actions are captured, and ``tell`` is called with each run; so are blocks around it in this thread. If ``own``, those of this thread alone."""
        with self._during(OpenCapture(name, strategy, (*self.around(), tell), own=own, policy=policy)):
            yield

    @contextmanager
    def resuming(
        self, name: str, strategy: str, tell: Callable[[Run], None], policy: str, fitted: Callable[[Iterable[Operator]], str],
    ) -> Iterator[None]:
        """Within: actions of this thread are captured, which may be called once more: nobody else hears of their runs.

        What another thread does meanwhile, a cell that runs while a view resumes, is not under the policy.
        """
        with self._during(OpenCapture(name, strategy, (tell,), own=True, policy=policy, fitted=fitted)):
            yield

    def around(self) -> tuple[Callable[[Run], None], ...]:
        """Who is told of the runs of a capture that is opened now in this thread, besides who opens it."""
        here = threading.get_ident()
        return next((c.told for c in reversed(self._open) if c.thread == here), ())

    @contextmanager
    def alone(self, name: str, strategy: str, tell: Callable[[Run], None]) -> Iterator[None]:
        """Within: actions of this thread are captured for a question of ours, and nobody else hears of them."""
        with self._during(OpenCapture(name, strategy, (tell,), alone=True)):
            yield

    @contextmanager
    def _during(self, capture: OpenCapture) -> Iterator[None]:
        try:  # before it is open: an interruption right behind that would leave it so
            with self._changing:
                self._open = (*self._open, capture)
            yield
        finally:
            with self._changing:
                self._open = tuple(other for other in self._open if other is not capture)
