"""Values of the user as text: never an error of theirs, and nothing that a terminal would obey."""

from __future__ import annotations

import builtins
import signal
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.shown import LONGEST, counted, plain, shown

# What a terminal obeys, what hides or reorders text, what HTML and formulas mean, and half a character.
nasty = st.text(
    st.sampled_from("\x00\x07\x08\x1b\x7f\x9b\n\r\t\u200b\u202e\u2066\u2028\ufeff\xad\ud800<>&\"'$\\`") | st.characters()
)


def repr_that_raises(error: BaseException) -> Any:
    def raising(self: Any) -> str:
        raise error

    return type("Trouble", (), {"__repr__": raising})()


class Panic(BaseException):
    """As libraries in Rust raise it."""


@pytest.mark.parametrize(
    "error", [ValueError("no"), RecursionError(), StopIteration(), MemoryError(), Exception(), AssertionError(), Panic("no"), SystemExit(3), GeneratorExit()],
)
def test_an_error_of_the_users_repr_is_shown_in_its_place(error: BaseException) -> None:
    text = f"<Trouble whose repr raised {type(error).__name__}>"
    trouble = repr_that_raises(error)
    assert shown(trouble) == text
    assert shown((1, [trouble], {"a": trouble})) == f"(1, [{text}], {{'a': {text}}})"


def test_a_stop_of_the_users_is_obeyed() -> None:
    with pytest.raises(KeyboardInterrupt):
        shown(repr_that_raises(KeyboardInterrupt()))


@pytest.mark.parametrize("error", [TimeoutError, SystemExit])
def test_what_a_signal_raises_in_a_repr_is_obeyed(error: type[BaseException]) -> None:
    def over(number: int, frame: Any) -> None:
        raise error

    trouble = type("Slow", (), {"__repr__": lambda self: signal.raise_signal(signal.SIGUSR1)})()
    before = signal.signal(signal.SIGUSR1, over)
    try:
        with pytest.raises(error):
            shown([trouble])
    finally:
        signal.signal(signal.SIGUSR1, before)


class Liar(str):
    """A string that says of itself what it wants."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        raise ValueError

    def __format__(self, spec: str) -> str:
        raise ValueError

    def __getitem__(self, item: Any) -> Any:
        raise ValueError

    def isprintable(self) -> bool:
        return True


@pytest.mark.parametrize("text", ["<b>\x1b[2J", "y" * 10**5])
def test_what_a_repr_gives_is_made_a_plain_and_short_string(text: str) -> None:
    value = type("Sly", (), {"__repr__": lambda self: Liar(text)})()
    for held in (value, [value], {1: value}):
        answer = shown(held)
        assert type(answer) is str
        assert builtins.len(answer) <= LONGEST


def impostor(name: str) -> Any:
    return type(name, (), {"__repr__": lambda self: "mine"})()


class NoItems(dict[Any, Any]):
    """A dict that cannot be walked."""

    def items(self) -> Any:
        raise KeyError

    __iter__ = items
    __repr__ = items


STRANGE = {
    "a repr that is no string": type("Odd", (), {"__repr__": lambda self: 5})(),
    "no repr": type("Odd", (), {"__repr__": None})(),
    "attributes that raise": type("Odd", (), {"__getattribute__": lambda self, name: 1 / 0})(),
    "another class than it has": type("Odd", (), {"__class__": property(lambda self: 1 / 0)})(),
    "an integer too long for decimals": 10**10_000,
    "a dict that cannot be walked": NoItems(),
    "a class": NoItems,
    "a module": sys,
    "a function": shown,
    "a surrogate": "\ud800",
    "a frame": sys._getframe(),
    "a name with a space": impostor("a b"),
    "a name beyond ASCII": impostor("é<b>"),
}


@pytest.mark.parametrize("name", STRANGE)  # pytest itself would ask the values for attributes
def test_nothing_is_too_strange_to_be_shown(name: str) -> None:
    value = STRANGE[name]
    for held in (value, [value], {"key": value}, (value,), {1: {2: value}}):
        assert 0 < len(shown(held)) <= LONGEST


def test_a_class_that_hides_its_name_is_shown_too() -> None:
    class Nameless(type):
        @property
        def __name__(cls) -> str:
            raise LookupError

    def raising(self: Any) -> str:
        raise ValueError

    assert shown(Nameless("Odd", (), {"__repr__": raising})())


@pytest.mark.parametrize(
    "name", ["int", "instance", "Repr", "bytes", "list", "dict", "str", "set", "array", "deque"]
)
def test_a_class_with_the_name_of_a_builtin_is_asked_for_its_own_repr(name: str) -> None:
    assert shown(impostor(name)) == "mine"


@given(nasty)
@example("\x1b[2Jx\x9b")
@example("\u202etxt.exe")
@example("\ud800")
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert plain(text).isprintable()
    plain(text).encode()  # no half characters either
    if text.isprintable():
        assert plain(text) == text
    elif "\\" not in text:
        assert plain(text).encode("ascii", "backslashreplace").decode("unicode_escape") == text


@given(st.integers(0, 10**12))
def test_records_are_counted_in_words(number: int) -> None:
    figure, word = counted(number).split(" ")
    assert int(figure.replace(",", "")) == number
    assert word == ("record" if number == 1 else "records")
