"""Loggers: how they are set, which is everybody's. What a trial sets is put back; what somebody else sets meanwhile, or a package for itself, stays."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import Any

from bigdebug.outside import from_outside

SETTING = ((logging.Logger, ("addHandler", "removeHandler", "setLevel")), (logging.Filterer, ("addFilter", "removeFilter")))
"""Methods that set loggers and their handlers."""

_OF_PYTHON = frozenset(("name", "parent", "manager", "root", "_cache"))
"""Attributes of loggers that nobody sets."""
_KNOWN = _OF_PYTHON | {"level", "propagate", "disabled", "handlers", "filters"}
_OF_HANDLERS = frozenset(("level", "formatter", "filters"))

_set_level = logging.Logger.setLevel  # as it is when no trial listens to it


def plain_logger(value: Any) -> bool:
    """Whether it is a logger that is put back: one of those that all find by their names, without attributes of the user's."""
    if not isinstance(value, logging.Logger):
        return False
    found = value is logging.root or logging.root.manager.loggerDict.get(value.name) is value
    return found and (type(value) not in (logging.Logger, logging.RootLogger) or vars(value).keys() <= _KNOWN)


class Meanwhile:
    """What is set while functions are tried, in several threads: by somebody else, and back by a trial."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, Loggers | None]] = []
        self.trials = itertools.count()

    def set_by_other(self, each: Any) -> None:
        """A logger or a handler is set by who is not tried."""
        self.events.append((each, None))


class Loggers:
    """As those are now that there are, and their handlers. Takes 2 ms for a thousand, with putting back."""

    def __init__(self, meanwhile: Meanwhile) -> None:
        self.number = next(meanwhile.trials)
        self.held = {id(each): (each, _settings(each)) for each in _all()}
        self._events = meanwhile.events
        self._since = len(self._events)
        self._disabled = logging.root.manager.disable

    def put_back(self) -> None:
        """From now on they are so again; what another trial had set in vain when this one began is as it was before that."""
        for each, held in self.held.values():
            if not _same(_settings(each), held) or any(each is other for other, _ in self._events[self._since :]):
                self._put_back(each)
        if logging.root.manager.disable != self._disabled:
            logging.disable(self._disabled)

    def _put_back(self, each: Any) -> None:
        setters = [by for other, by in self._events[self._since :] if each is other]
        if None in setters:
            return
        earlier = [by for by in setters if by is not None and by.number < self.number and id(each) in by.held]
        _put(each, *min([*earlier, self], key=lambda by: by.number).held[id(each)][1])
        self._events.append((each, self))


_Settings = tuple[tuple[str, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
"""Names and values of attributes, and what the lists of handlers and filters among them hold."""


def _settings(each: Any) -> _Settings:
    held = vars(each)
    return tuple(held), tuple(held.values()), tuple(held.get("handlers", ())), tuple(held.get("filters", ()))


def _same(one: _Settings, other: _Settings) -> bool:
    try:
        return one == other
    except Exception as error:  # of a type's own code
        if from_outside(error):
            raise
        return False


def _put(each: Any, names: tuple[str, ...], values: tuple[Any, ...], handlers: tuple[Any, ...], filters: tuple[Any, ...]) -> None:
    held, logger = vars(each), isinstance(each, logging.Logger)
    level = held.get("level")
    for name in held.keys() - _OF_PYTHON - set(names) if logger else ():
        del held[name]
    held.update((name, value) for name, value in zip(names, values) if (name not in _OF_PYTHON if logger else name in _OF_HANDLERS))
    for name, kept in (("handlers", handlers), ("filters", filters)):
        if name in held and (logger or name in _OF_HANDLERS):
            held[name][:] = kept
    if logger and held["level"] is not level:
        _set_level(each, held["level"])  # loggers remember what it lets through


def _all() -> Iterator[Any]:
    """Each once."""
    handlers = dict[int, logging.Handler]()
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield logger
            handlers.update((id(each), each) for each in logger.handlers[:] if isinstance(each, logging.Handler))
    yield from handlers.values()
