"""What Tab offers after ``%lineage`` and ``%%lineage``: words of the magics, names of runs, variables with lineage."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from bigdebug.trace.watch import Watch
from bigdebug_kernel.magics import COMMANDS, ON_CRASH, STEPS, STRATEGIES

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension

_CALL = re.compile(r"\s*(?P<magic>%%?)lineage\s+(?P<words>.*)$")
_CHOICES = {"--strategy": STRATEGIES, "--on-crash": ON_CRASH}


class Completion:
    """Completions for one shell."""

    def __init__(self, shell: Any, extension: Extension) -> None:
        self._shell = shell
        self._extension = extension

        @context_matcher(identifier="bigdebug.lineage")
        def matcher(context: Any) -> dict[str, Any]:
            call = _CALL.match(context.text_until_cursor)
            if call is None:
                return {"completions": []}
            *before, fragment = call["words"].split(" ")
            offers = self.offers(call["magic"], [word for word in before if word])
            fitting = [SimpleCompletion(text=word) for word in offers if word.startswith(fragment)]
            return {"completions": fitting, "matched_fragment": fragment, "suppress": bool(fitting), "ordered": True}

        self.matcher = matcher

    def offers(self, magic: str, before: list[str]) -> Iterable[str]:
        """What can follow the words ``before``."""
        if magic == "%%":
            return _CHOICES.get(before[-1] if before else "", _CHOICES)
        if not before:
            return COMMANDS
        if before == ["watch"]:
            return sorted(name for name, value in list(self._shell.user_ns.items()) if name[0] != "_" and isinstance(value, Watch))
        if before[0] != "trace":
            return ()
        if len(before) == 1:
            return self._subjects()
        return () if before[-1] in ("--where", "-n") else (*STEPS, "--where", "-n")

    def _subjects(self) -> list[str]:
        """Runs, the latest first, then variables."""
        session = self._extension.session()
        if session is None:
            return []
        runs = [run.name for run in reversed(session.runs) if " " not in run.name]
        names = [name for name, value in list(self._shell.user_ns.items()) if name[0] != "_" and session.traceable(value)]
        return list(dict.fromkeys([*runs, *sorted(names)]))
