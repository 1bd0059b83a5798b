"""``datasets``: which data feeds which, over all sessions and notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from bigdebug.datasets.naming import last_part
from bigdebug.datasets.questions import Datasets as Recorded
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import StoreError
from bigdebug.views.datasetsview import DatasetsView
from bigdebug_kernel.asking import Asking
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.words import Words, at_least

_Answer = Callable[[Recorded, list[Any], dict[str, Any]], Any]

_QUESTIONS: dict[str, tuple[tuple[int, int], _Answer]] = {
    "list": ((0, 1), lambda asked, words, said: asked.find(*words, **said)),
    "upstream": ((1, 1), lambda asked, words, said: asked.upstream(*words, **said)),
    "downstream": ((1, 1), lambda asked, words, said: asked.downstream(*words, **said)),
    "impact": ((2, 2), lambda asked, words, said: asked.impact(*words, **said)),
    "history": ((1, 1), lambda asked, words, said: asked.history(*words, **said)),
    "changed": ((1, 3), lambda asked, words, said: asked.changed(*words, **said)),
    "show": ((1, 1), lambda asked, words, said: asked.show(*words, **said)),
    "processes": ((0, 1), lambda asked, words, said: asked.processes(*words, **said)),
    "graph": ((0, 1), lambda asked, words, said: DatasetsView(asked, *words)),
    "trace": ((1, 1), lambda asked, words, said: asked.trace(*words, **said)),
}
"""How many names each takes, and what it gives."""

_COLUMNED, _LIMITED = ("upstream", "downstream"), ("list", "upstream", "downstream", "impact", "history", "processes")


class Datasets(Command):
    """Which data feeds which, over all sessions and notebooks.

    %lineage datasets                               all datasets, those used last first
    %lineage datasets upstream orders               what it was made from, over all steps
    %lineage datasets downstream orders -c price    what was made with a column of it
    %lineage datasets impact orders price           what fails, or is stale, if the column is dropped
    %lineage datasets history /data/orders          what was done to it, latest first
    %lineage datasets changed sales                 what is different between the last two runs of a job
    %lineage datasets show orders                   its columns, and what each was made of
    %lineage datasets graph                         all of it, drawn; graph orders: what feeds it, and what it feeds
    %lineage datasets processes                     what was done, latest first
    %lineage datasets trace orders                  its records' lineage, where the write was captured in this session
    """

    name = "datasets"

    def takes(self, words: Words) -> None:
        words.takes("question", metavar="QUESTION", nargs="?", choices=tuple(_QUESTIONS), default="list", help="what to ask; all datasets, if nothing is said")
        words.takes("names", metavar="NAME", nargs="*", offers=_names, help="a dataset, by its name or its last parts; a column, a job or a process")
        words.takes("-c", "--column", metavar="COLUMN", help="of upstream and downstream: of this column of it")
        words.takes("-n", "--limit", metavar="N", type=at_least(1, "a number of rows"), help="so many rows at most")

    def answer(self, given: Any, asking: Asking) -> Any:
        (least, most), answer = _QUESTIONS[given.question]
        if not least <= len(given.names) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise UsageError(f"%lineage datasets {given.question} takes {wanted} name{'' if most == 1 else 's'}; see %lineage datasets?")
        said = {"column": given.column, "limit": given.limit}
        for word, where in (("column", _COLUMNED), ("limit", _LIMITED)):
            if said[word] is None:
                del said[word]
            elif given.question not in where:
                raise UsageError(f"--{word} is for {', '.join(where)}, not for {given.question}")
        return answer(_recorded(asking), given.names, said)


def _recorded(asking: Asking) -> Recorded:
    """Of the session that runs, or the latest one; without one, what was recorded before."""
    session = asking.extension.session() or asking.extension.latest
    return Recorded(DatasetStore.of()) if session is None else session.datasets


def _names(asking: Asking) -> list[str]:
    """Datasets as they are typed, those used last first."""
    try:
        names = [last_part(name) for name in _recorded(asking).find(limit=200).column("dataset")]
    except StoreError:
        return []
    return list(dict.fromkeys(name for name in names if name and not set(name) & set(" \"'")))
