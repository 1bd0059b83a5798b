"""Functions over frames as steps: a frame in, a frame out, and which input rows each row was made of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.apart import Copies
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import being_tried, ended
from bigdebug.actors.associations import Associations, Groups, Pairs, Unknown, all_of_all, made_of, one_to_one
from bigdebug.actors.bare import bare
from bigdebug.actors.beside import Beside
from bigdebug.actors.codes import Untried
from bigdebug.actors.columns import Column
from bigdebug.actors.decorated import Decorated, decorated, name_of
from bigdebug.actors.files import runs_of
from bigdebug.actors.frames import FRAMES, all_inputs
from bigdebug.actors.items import Items
from bigdebug.actors.owners import GroupOwners, RowOwners
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.actors.promises import NOT_TRIED, Broken, Owners, Probe, believed, kept, probed, telling
from bigdebug.actors.steady import PANDAS, Steady, steady
from bigdebug.errors import ActorError, UntraceableError
from bigdebug.trace.across.located import Extent, Unit, gives_path
from bigdebug.trace.across.paths import short

if TYPE_CHECKING:
    import pandas as pd

    Function = Callable[..., Any]


log = logging.getLogger("bigdebug")


def rows(function: Function | None = None, *, check: bool = True, name: str = "", home: Home = None) -> Any:
    """A function over a frame that makes each row of one input row alone, and keeps its label in the index.

    Filters, new columns, ``explode``, ``sort_values``, ``map`` do so. What looks at neighbours (``shift``, ``cumsum``), at all (``mean``), or at duplicates does not, nor does
    ``reset_index``. The function gets the very frame, and what it gives is given. Before, a copy of it, with copies of all that it remembers, is called on copies of a few rows, and
    of its other arguments, to see that the promise holds; if it does not, the step has no lineage and says why. If something cannot be copied for certain (a lock, an open file, an
    iterator, more than 256 MB), or if it would write or remove a file (but by ``open``: that writes nothing then), connect with something or start a program, which it is stopped from, it
    is not tried: the promise is believed, and a note says so. (Python tells of most of that; what packages do in C is known by the names of
    their functions.) ``check=False`` tries nothing and believes it: for functions that do something else than give a frame.
    """
    return decorated(function, lambda fn: FrameFunction(fn, RowOwners, check, name, home))


def groups(function: Function | None = None, *, by: str | Sequence[str], check: bool = True, name: str = "", home: Home = None) -> Any:
    """A function over a frame that makes each row of the input rows with the same values in ``by``, which the result has as columns or in its index.

    Else as ``rows``.
    """
    names = [by] if isinstance(by, str) else list(by)
    if not names or not all(isinstance(each, str) for each in names):
        raise ActorError("Rows are grouped by one column or more", value=by, remedy='Name them: @actors.groups(by="city").')
    return decorated(function, lambda fn: FrameFunction(fn, partial(GroupOwners, by=names), check, name, home))


def whole(function: Function | None = None, *, name: str = "", home: Home = None) -> Any:
    """A function over a frame whose rows are each made of all input rows: true of every function, and narrow of those that sum up."""
    return decorated(function, lambda fn: FrameFunction(fn, None, False, name, home))


def merge(left: pd.DataFrame, right: pd.DataFrame, *, name: str = "merge", home: Home = None, **options: Any) -> pd.DataFrame:
    """``left.merge(right, ...)`` as a step: a row was made of the one or two that it joins. Raises what pandas does of anything else than frames and series."""
    import pandas as pd

    if not (isinstance(left, (pd.DataFrame, pd.Series)) and isinstance(right, (pd.DataFrame, pd.Series))):
        return pd.merge(left, right, **options)
    frames = [frame.to_frame() if frame.ndim == 1 else frame for frame in (left, right)]
    for frame in frames:
        if frame.columns.nlevels > 1 or any(mark in frame.columns for mark in _MARKS):
            raise UntraceableError("Frames with several levels of columns cannot be followed through a merge", remedy="Use pandas' own merge.")
    inputs, why = all_inputs([left, right], lambda items: _handed_on(items, home))
    with steady(name, PANDAS, home) as actor:
        marked = [_marked(frame, mark) for frame, mark in zip(frames, _MARKS)]
        joined = marked[0].merge(marked[1], **options)
        of_left, of_right = (_numbers(joined.pop(mark).to_numpy()) for mark in _MARKS)
        joined.columns = _columns(left, right, options)
        _given(actor, joined, inputs, Pairs(of_left, of_right, len(left)), why)
    return joined


def _handed_on(items: Items, home: Home) -> Items:
    """The rows of a frame as those of a step of its own, which hands on what it was given."""
    with steady(f"read {short(items.places.files[0].path)}", PANDAS, home) as actor:
        actor.commit_as(items, Items(items.count), one_to_one(items.count))
    return Items(items.count, Places.of([Extent(gives_path(actor.id), Unit.ROW, "item")], runs_of([items.count])) if actor.id else NOWHERE)


_MARKS = ("bigdebug: row of the left frame", "bigdebug: row of the right frame")


def _columns(left: Any, right: Any, options: dict[str, Any]) -> Any:
    """The columns that pandas gives, which are of another kind where a mark was among them. Raises what it does of a series without a name."""
    import pandas as pd

    keys = {name: _none_of(options[name]) for name in ("on", "left_on", "right_on") if options.get(name) is not None}
    return pd.merge(_without_rows(left), _without_rows(right), **{**options, **keys}).columns


def _without_rows(frame: Any) -> Any:
    """A frame with the same columns and no rows. They are objects: of an object pandas looks which type it is, and finds that nothing is no number."""
    none = frame.iloc[:0].astype(object)
    return none if none.index.nlevels > 1 else none.set_axis(none.index.astype(object))


def _none_of(keys: Any) -> Any:
    """The names of keys; of keys that are values themselves, a value for each row, none."""
    if isinstance(keys, (list, tuple)):
        return type(keys)(map(_none_of, keys)) if type(keys) in (list, tuple) else keys
    return keys.iloc[:0].astype(object) if hasattr(keys, "iloc") else keys[:0].astype(object) if getattr(keys, "ndim", 0) else keys


def _marked(frame: pd.DataFrame, mark: str) -> pd.DataFrame:
    """The frame with the numbers of its rows beside; its columns are not copied. Joined, for pandas warns of one column that is put to many, and who catches that does so for all threads."""
    import pandas as pd

    plain = frame.copy(deep=False)
    plain.columns = plain.columns.astype(object)  # some kinds take no other name
    plain.index = pd.RangeIndex(len(frame))
    numbers = pd.DataFrame({mark: np.arange(len(frame), dtype=np.int32 if len(frame) < 2**31 else np.int64)})
    uncopied: Any = {"copy": False} if pd.__version__ < "3" else {}
    marked = pd.concat([plain, numbers], axis=1, **uncopied).__finalize__(frame)
    marked.index = frame.index
    return marked


class FrameFunction(Decorated):
    """A function over a frame that is a step each time it is called. ``see`` looks at the frame before the function has it; None: all rows are made of all."""

    def __init__(self, function: Function, see: Callable[[Any], Owners] | None, check: bool, name: str, home: Home) -> None:
        super().__init__(function)
        self._see = see
        self._check = check
        self._name = name or name_of(function)
        self._home = home

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, of a frame that its first parameter gets."""
        found = Arguments.of(self._function, bound, args, kwargs)
        if found is None:
            result = self._function(*args, **kwargs)
            log.warning("bigdebug: a step is not captured: %s was called without a frame for its first parameter", self._name)
            return result
        arguments, frame = found
        if not hasattr(frame, "iloc"):
            raise ActorError(f"{self._name} is a step over a frame", value=frame, remedy="Call it with a frame of pandas as its first argument.")
        if being_tried():  # a step within one that is tried
            return self._function(*args, **kwargs)
        inputs, why = all_inputs([frame])
        beside = Beside()
        for each in arguments:
            beside.holds(each)
        with steady(self._name, PANDAS, self._home) as actor:
            seen, probes, untold = self._before(frame, arguments, beside)
            if seen is not None and not probes:
                beside.remembers(self._function)
            result = self._function(*args, **kwargs)
            associations, more, held = self._after(seen, probes, untold, inputs.count, result)
            _given(actor, result, inputs, associations, (*why, *filter(None, [more]), *beside.notes(self._name)), held)
        return result

    def _before(self, frame: Any, arguments: Arguments, beside: Beside) -> tuple[Owners | None, list[Probe], str]:
        """Who owns a row, and what copies of the function gave of a few; or why it was not tried, or, without owners, why it has no lineage."""
        if self._see is None:
            return None, [], ""
        try:
            with telling():
                seen = self._see(bare(frame))
            if not self._check:
                return seen, [], ""
            return seen, probed(frame, seen, self._trial(arguments, beside), beside.opens), ""
        except Untried as why:
            return seen, [], why.note
        except Broken as promise:
            return None, [], str(promise)
        finally:
            ended()

    def _trial(self, arguments: Arguments, beside: Beside) -> Function:
        """What calls the function so that nobody sees it: each time it remembers what it does now."""
        copies = Copies(beside.holds)

        def call(few: Any) -> Any:
            with copies.of(self._function, arguments.rest, rows=few) as (function, rest, mine):
                return arguments.copied(rest).call(function, mine)

        return call

    def _after(self, seen: Owners | None, probes: list[Probe], untold: str, count: int, result: Any) -> tuple[Associations, str, str]:
        """The associations of a result, or why there are none; and what is believed of them."""
        if self._see is None:
            return all_of_all(count, _size(result)), f"Every row of {self._name} is said to be made of all its input", ""
        if seen is None:
            return self._unknown(untold)
        try:
            with telling():
                owners = seen.of(bare(result) if hasattr(result, "attrs") else result)
                came = kept(probes, result, seen, owners) or not len(owners)
        except Broken as promise:
            return self._unknown(str(promise))
        found: Associations = Groups(Column.of(seen.codes), owners) if isinstance(seen, GroupOwners) else made_of(owners)
        if untold:
            return found, untold, ""
        return found, *(believed(probes, seen, count, came) if self._check or seen.one else ("", NOT_TRIED))

    def _unknown(self, broken: str) -> tuple[Associations, str, str]:
        why = f"{self._name} has no lineage: {broken}"
        return Unknown(why), why, ""


def _given(actor: Steady, result: Any, inputs: Items, associations: Associations, why: tuple[str, ...], believed: str = "") -> None:
    """Commit, and know the rows of the result from then on."""
    count = _size(result)
    actor.commit_as(inputs, Items(count), associations, why, believed)
    if actor.id and hasattr(result, "iloc"):
        FRAMES.tell(result, [Extent(gives_path(actor.id), Unit.ROW, "item")], [count])


def _numbers(places: Any) -> Column:
    """For each row the number of the one that it was made of, from 1: 0 where pandas has none, which is a null."""
    return Column.of(places + 1 if places.dtype.kind == "i" else np.nan_to_num(places + 1).astype(np.int64))


def _size(result: Any) -> int:
    return len(result) if hasattr(result, "iloc") else 1
