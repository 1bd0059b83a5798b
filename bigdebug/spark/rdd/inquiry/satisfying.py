"""Satisfying: the records for which a function of the user's is true, and what becomes of a function that raises, or changes what it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.errors import NondeterminismError
from bigdebug.spark.predicate import changing, guarded, kept, told
from bigdebug.spark.rdd.questions import Found, Questions
from bigdebug.trace.places import Places


def satisfying(questions: Questions, operator: int, places: Places, test: Callable[[Any], Any], what: str, shown: int = 0, given: Any = None) -> Found:
    """The records of an operator that satisfy ``test``, as ``Questions.records`` has them. ``what`` it is called in an error, and ``given`` what the user gave, if it is not itself.

    Raises PredicateError for what it raises; and where it changes records, for then what the program gives is not what it was, and no fault of the program's.
    """
    with told(what):
        try:
            return questions.records(operator, places, guarded(test), shown)
        except NondeterminismError:
            questions.records(operator, places, guarded(kept(test)))  # raises, if it is the program after all
            raise changing(what, given or test) from None
