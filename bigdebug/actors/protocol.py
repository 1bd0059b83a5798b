"""Protocol: Newt's calls as lines of JSON, for programs in any language. A program appends them to the file that BIGDEBUG_ACTOR names; each line is one call, in order.

    {"input": ITEM, "tag": "k"}           add_input; the tag may be left out, and a list of tags are several
    {"output": ITEM, "tag": ["k", "l"]}   add_output
    {"reset": "k"}, {"reset": true}       reset of a tag, or of the tag that what is given none has
    {"capture": [ITEM, ITEM]}             capture: the second was made of the first alone
    {"fail": ITEM, "error": "..."}        fail
    {"inputs": 5}, {"outputs": 3}         so many that are known by their order
    {"file": "in.csv", "form": "csv", "options": {"header": "true"}}

An ITEM is a place, {"file": "in.txt", "line": 3}, {"file": ..., "row": 3}, {"file": ..., "offset": 10, "length": 5}, {"file": ...} for all of it; a value, {"value": ...}; both at once; or
null, the next in order. Lines, rows and bytes are counted from 0. Files are relative to the program's directory. (``register`` and ``commit`` are done around the program.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from bigdebug.actors.actor import Actor
from bigdebug.actors.log import ANY, NEXT
from bigdebug.actors.places import Place
from bigdebug.errors import ActorError
from bigdebug.store.paths import mode_of

SAYS = "BIGDEBUG_ACTOR"
"""The variable of the environment that names the file."""

Item = tuple[Any, Place | None]


def say(actor: Actor, path: str, folder: str | os.PathLike[str] | None = None) -> None:
    """Call for an actor what a program said into a file; a program that said nothing made no file. Raises ActorError for a line that says nothing of ours, by its number."""
    if not mode_of(path):
        return
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, text in enumerate(file, 1):
            why = _tried(actor, text, os.fspath(folder or ""))
            if why:
                raise ActorError(f"Line {number} of what the program said is no call: {why}", value=text.strip(), remedy="bigdebug.actors.protocol has the calls.")


def _tried(actor: Actor, text: str, folder: str) -> str:
    """Make a call; why it is none."""
    try:
        _call(actor, json.loads(text), folder)
    except ActorError as problem:
        return problem.what
    except RecursionError:
        return "it is nested too deeply"
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as problem:
        return str(problem)
    return ""


def _call(actor: Actor, said: Any, folder: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "input": lambda: _add(actor.add_input, said, "input", folder),
        "output": lambda: _add(actor.add_output, said, "output", folder),
        "reset": lambda: actor.reset(ANY if said["reset"] is True else _tag(said["reset"])),
        "capture": lambda: actor.capture(*(_one(each, folder) for each in said["capture"])),
        "fail": lambda: actor.fail(_one(said["fail"], folder), error=str(said.get("error", ""))),
        "inputs": lambda: actor.add_inputs(said["inputs"]),
        "outputs": lambda: actor.add_outputs(said["outputs"]),
        "file": lambda: actor.file(os.path.join(folder, said["file"]), str(said.get("form", "")), {str(k): str(v) for k, v in said.get("options", {}).items()}),
    }
    name = next((each for each in calls if each in said), None)
    if name is None:
        raise ValueError("it names none")
    calls[name]()


def _add(call: Callable[..., object], said: dict[str, Any], name: str, folder: str) -> None:
    value, place = _item(said[name], folder)
    call(value, _tag(said["tag"]) if "tag" in said else ANY, at=place)


def _one(said: Any, folder: str) -> Any:
    """An item that is a value or a place."""
    value, place = _item(said, folder)
    return place if place is not None else value


def _item(said: Any, folder: str) -> Item:
    if said is None:
        return NEXT, None
    value = said.get("value", NEXT)
    if "file" not in said:
        if value is NEXT:
            raise ValueError("an item has a value or a file")
        return value, None
    path = os.path.join(folder, said["file"])
    if "line" in said:
        return value, Place.line(path, said["line"])
    if "row" in said:
        return value, Place.row(path, said["row"])
    return value, Place.span(path, said["offset"], said["length"]) if "offset" in said else Place.whole(path)


def _tag(said: Any) -> Any:
    """A tag as JSON has it; a list are several."""
    return frozenset(map(_single, said)) if isinstance(said, list) else _single(said)


def _single(said: Any) -> Any:
    if isinstance(said, (list, dict)):
        raise TypeError("a tag is a text or a number")
    return said
