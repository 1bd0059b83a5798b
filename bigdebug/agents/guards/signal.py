"""Signals: what guards say to each other past the user's code, which may catch exceptions."""


class Signal(BaseException):
    """No crash, and no Exception."""
