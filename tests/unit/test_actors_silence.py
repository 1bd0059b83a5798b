"""Silence: while a function is tried, other threads write and warn as ever, and nothing of ours is left behind."""

import sys
import threading
import warnings

from bigdebug.actors.aside import aside


def in_another_thread(call):
    """What a call gives in a thread that was started before any trial."""
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    return lambda: (thread.join(), found)[1]


class Tee:
    """A stream that tells nobody how much it wrote: many of the users' do so."""

    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)

    def flush(self):
        pass


def test_a_stream_may_say_nothing_of_what_it_wrote(monkeypatch):
    tee, began = Tee(), threading.Event()
    monkeypatch.setattr(sys, "stdout", tee)

    def prints():
        began.wait(9)
        print("another's")  # noqa: T201
        return sys.stdout.write("its own")

    given = in_another_thread(prints)
    with aside():
        began.set()
        assert given() == [None]
        print("mine")  # noqa: T201
    assert "".join(tee.texts) == "another's\nits own"


def test_filters_of_warnings_that_another_thread_puts_back_are_without_ours():
    began, over = threading.Event(), threading.Event()

    def catches():
        began.wait(9)
        with warnings.catch_warnings():
            entered.set()
            over.wait(9)

    entered = threading.Event()
    with warnings.catch_warnings():
        before = [*warnings.filters]
        done = in_another_thread(catches)
        with aside():
            began.set()
            assert entered.wait(9)
        over.set()
        done()
        assert warnings.filters == before
