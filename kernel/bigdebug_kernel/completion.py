"""What Tab offers after ``%lineage`` and ``%%lineage``: commands, their options, runs, and variables that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError

from bigdebug_kernel.words import split

_CALL = re.compile(r"(?:\s*[\w.]+\s*=)?\s*(?P<magic>%%?)lineage\s+(?P<words>.*)$")


class Completion:
    """Completions for one shell. ``offered`` says what can follow some words of a magic."""

    def __init__(self, offered: Callable[[str, list[str]], list[str]]) -> None:
        @context_matcher(identifier="bigdebug.lineage")
        def matcher(context: Any) -> dict[str, Any]:
            call = _CALL.match(context.text_until_cursor)
            if call is None:
                return {"completions": []}
            fragment = call["words"].rpartition(" ")[2]
            try:
                before = split(call["words"].removesuffix(fragment))
            except UsageError:  # within quotation marks it is an expression of Python's or SQL's
                return {"completions": []}
            fitting = [SimpleCompletion(text=word) for word in offered(call["magic"], before) if word.startswith(fragment)]
            return {"completions": fitting, "matched_fragment": fragment, "suppress": bool(fitting), "ordered": True}

        self.matcher = matcher
