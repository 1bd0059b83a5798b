"""Meant: the files that a name means, among those that steps read or wrote: a path, the end of one, a directory."""

from __future__ import annotations

import os
from difflib import get_close_matches

from bigdebug.errors import UnknownStepError
from bigdebug.trace.across.dataflow import Dataflow
from bigdebug.trace.across.flow import ends_with
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.step import left, named, took
from bigdebug.trace.textlines import local_path


def may_be_there(path: str) -> bool:
    """Whether a file is there, as far as that can be seen from here."""
    here = local_path(path)
    return here is None or os.path.isfile(here)


def known_paths(flow: Dataflow, name: str) -> list[str]:
    """The files that are meant by a name: the path of one, the end of its path if it is the only one, or a directory. Raises UnknownStepError."""
    wanted = _keys(name)
    exactly = sorted(filter(flow.knows, wanted))
    if exactly:
        return [path for one in exactly for path in _with_files(flow, one)]
    paths = flow.paths()
    within = sorted(path for path in paths if any(path.startswith(f"{one.rstrip('/')}/") for one in wanted))
    if within:
        return within
    unlisted = [one for one in sorted(wanted) if may_be_there(one) and flow.unlisted(one)]
    if unlisted:
        return unlisted
    ending = sorted(path for path in paths if ends_with(path, name))
    if ending and any(os.path.lexists(one) for one in wanted if os.path.isabs(one)):
        raise UnknownStepError("No step of the pipeline read or wrote the file that stands there", value=name, remedy=f"If another of this name is meant, give its path: {', '.join(ending[:3])}.")
    if len(ending) == 1:
        return _with_files(flow, ending[0])
    if ending:
        raise UnknownStepError(f"{len(ending)} files have this name", value=name, remedy=f"Name one by more of its path: {', '.join(ending[:3])}.")
    folders = sorted({path[: at + len(name) + 1] for path in paths if (at := path.find(f"/{name.strip('/')}/")) >= 0})
    if len(folders) == 1:
        return sorted(path for path in paths if path.startswith(f"{folders[0]}/"))
    raise unknown(flow, name)


def _keys(name: str) -> set[str]:
    """Those of a file by this name, as it is and as it is seen from here."""
    return {key_of(name), key_of(name if ":" in name else os.path.abspath(name))}


def _with_files(flow: Dataflow, path: str) -> list[str]:
    """A file that steps know; of a folder where nobody knows which files are whose, also those that are known."""
    if not any(key_of(folder.path) == path for _, folder in flow.unlisted(path)):
        return [path]
    return [path, *sorted(one for one in flow.paths() if one.startswith(f"{path}/"))]


def unknown(flow: Dataflow, name: str) -> UnknownStepError:
    for step in flow.steps:
        if _keys(name).intersection(map(key_of, (*took(step), *(extent.path for extent in left(step))))):
            return UnknownStepError(
                f"{named(step)} had this file, and did not commit: of what, and to what, its records were made is not known", value=name, remedy=f"Run that step again. {' '.join(step.incomplete[:1])}",
            )
    near = get_close_matches(short(name), sorted(map(short, flow.paths())), n=3)
    hint = f"Near it are {', '.join(near)}." if near else "pipeline.table() lists steps and their files; a job has to run under capture to be one."
    return UnknownStepError("No step of the pipeline read or wrote this file", value=name, remedy=hint)
