"""Inquiry: what a debug session answers about results that are wrong: which records, what they have in common, what is different, and what is better without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

from bigdebug.localize.comparison import Comparison
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.search import Search
from bigdebug.mining.cleaned import Cleaned
from bigdebug.mining.mined import Explanation, Mined
from bigdebug.spark.cleaning import clean
from bigdebug.spark.comparing import compare
from bigdebug.spark.explaining import explain
from bigdebug.spark.localizing import Asked, localize
from bigdebug.spark.mining import mine
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.tracer import Tracer
from bigdebug.trace.given import number


class Inquiry(Tracer):
    """Questions about wrong results."""

    def localize(
        self, target: Any, test: Any = None, *, key: Any = None, whole: Callable[[list[Any]], Any] | None = None,
        expected: Any = None, raises: bool = False, tests: int | None = None, seconds: float | None = None, stop: Event | None = None,
        search: Search | None = None,
    ) -> Diagnosis:
        """Which source records make outputs wrong, by running the program on some of those that they were made of (BigSift; DESIGN 4.4).

        ``target`` is an RDD or a DataFrame of which an action was captured, a run or a trace. What is wrong, one of these says: ``test``, true of an output that is
        wrong (for rows, a Column or SQL as well), which is given its key, too, if there is a ``key`` function of an output; one that comes with bigdebug,
        ``bigdebug.checks.at_most(60)``; ``whole``, a test of the list of all outputs; or ``expected``, a list of outputs, an RDD or a DataFrame of them, or a dict by key:
        what is changed, not expected, or lacking (of rows, that they are lacking is told and not looked into). Of rows ``key`` may name columns; the first one is the key of what is
        expected, if nothing is said. Exceptions of the program are failures if ``raises``; of a run of an RDD program that crashed, it is asked which records make it crash
        (of a query, ``run.culprits`` tells).
        An output is known again by its key at the last operator that groups or joins.

        At most so many ``tests`` and ``seconds``, until the event ``stop`` is set (from another thread), or an interruption: then what is known by then is told, and why it is not
        all. ``search``, a ``bigdebug.Search()``, says meanwhile how far it is, and ``bigdebug.view(search)`` shows that; in a notebook with %load_ext, a localization of
        more than a second is shown so by itself.
        Takes a test for each of up to 2,000 records that an output was made of, some hundreds for more, and holds one core meanwhile. Raises LocalizeError where
        nothing is wrong, everything is, or the program cannot be tried; PredicateError for a test that raises, or changes outputs; TooLargeError for more than a million
        outputs beside those ``expected``. Of more than 20 wrong outputs those made of the fewest records are looked at, and the answer says of how many.
        """
        return localize(self.lineage(target), Asked(test, key, whole, expected, raises), tests, seconds, stop, search, self.progress)

    def _localize(self, target: Any, test: Any) -> Diagnosis:
        """A localization that is a step of something else, which is not shown by itself."""
        return localize(self.lineage(target), Asked(test), None, None, None, live=False)

    def mine(
        self, run: Any, bad: Any = None, good: Any = None, *, names: Sequence[str] | str | None = None, alpha: float = 0.05, most: int = 20,
    ) -> Mined:
        """What is unusual in a run: inputs with many outputs or few, outputs of many inputs, partitions unlike others (Newt 4.1, 7.3.1).

        ``run`` is a run, an RDD or a DataFrame, or a trace over outputs. ``bad`` outputs, and ``good`` ones, are given as a predicate of an output (of rows, as
        ``where`` takes it), as a list of their keys (of rows, of conditions), or as a trace. Given bad ones, what only these were made of comes first,
        operators are ranked by the outputs that they took part in, and it is told what holds of source records of bad outputs and of few others ("origin =
        'EWR' and dep_time is NA"); given good ones, these are what is usual. ``names`` name fields by position, or are a header line; ``alpha`` is the chance
        that a sample without outliers is said to have one; ``most`` suspects are told.

        Operators of which lineage does not say which inputs made which output are named in ``notes``: functions over partitions, windows, limits, subqueries.
        Reads the lineage of the run; if there are bad outputs, up to 25,000 records of each source as well. With a million outputs of two million inputs on two
        cores: 0.8 s for an RDD program, 3 s with bad outputs; 3 to 9 s for a query, whose lineage is found first, and 24 bytes for each witness. Raises
        LocalizeError if no output is bad, PredicateError for a predicate that raises.
        """
        return mine(self.lineage(run), bad, good, names, alpha, most)

    def explain(self, culprits: Any, among: Any = None, *, names: Sequence[str] | str | None = None) -> Explanation:
        """What culprits have in common that few other records of the same source have: "origin = 'EWR' and dep_time is NA", with the shares of both.

        ``culprits`` are a trace (the source records that it leads back to), a diagnosis of ``localize``, ``run.culprits``, or source records.
        ``among`` are those that they are compared with: a run, an RDD or a DataFrame, for all records of its sources, or a trace. A trace is compared with all
        records of its run's sources, if nothing is said; the others need ``among``. ``names`` name fields by position, or are a header line.
        Reads up to 25,000 records of each source. Raises LocalizeError if there are no culprits.
        """
        return explain(culprits, None if among is None else self.lineage(among), isinstance(among, LineageRDD | LineageFrame), names)

    def compare(self, before: Any, after: Any, *, key: Any = None, most: int = 20) -> Comparison:
        """Two results side by side: outputs that are added, removed, or changed, with the inputs behind each that the other side has not.

        Each is a run, an RDD, a DataFrame, a trace over outputs, or a replay, which runs once more for it. Outputs of the same ``key`` (a function of an output,
        or fields by name or number; if nothing is said, the first field of a tuple or a row) that are there once on both sides are changed ones. Records are
        compared by their values, as ``localize`` compares outputs with those ``expected``: 1 is 1.0, of outputs of one key numbers with a fraction are the same to 9 digits, 0 is the same as what is within 1e-12 of it,
        and names of fields are not compared; inputs as well, wherever they came from. The inputs of the first ``most`` changes are looked up: a trace for each, of DataFrames a
        job or two, and none of an output of more than 2,000. Takes both results to the driver. Raises ReplayError for records that cannot be compared,
        UnknownColumnError for a field that an output has not, PredicateError for a key that raises.
        """
        return compare(before, after, self.lineage, key, number(most, "changes that are looked behind"))

    def clean(
        self, target: Any, quality: Any, *, enough: float | None = None, rounds: int = 5, suspects: Any = "localize", at: Any = None,
        edit: Callable[[Any], Any] | None = None,
    ) -> Cleaned:
        """The program once more without the records that make its worst outputs bad, again and again while that helps (Newt 4.2, 7.3.2).

        ``target`` is a DataFrame, an RDD of which an action was captured, or a run; ``quality`` gives a number for an output, higher for a better one: a function, of
        rows also a Column or SQL.
        Outputs below ``enough`` are bad; if nothing is said, those whose quality is unusually low (Grubbs). A round suspects records behind up to 20 of them:
        by ``suspects`` "localize", those without which they are good (see ``localize``; if it refuses, as "lineage"); "lineage", all that only bad outputs
        were made of; or those that a function chooses from the trace over their source records. They are left out at the sources or ``at`` an operator, or
        changed by ``edit``. A round after which no fewer outputs are bad, nor the lowest quality is higher, or good ones are lost, is undone and ends it, and the answer says so.

        An output of which nothing is left is no bad one any more, so "localize" takes the last record of an output only if it was its only one: the table
        says how many outputs there are. The user's data, runs and RDDs stay as they are; ``replay`` of the answer goes on without the records. Takes all
        outputs to the driver, and for each round the time of a localization and of a run. Of a query in which rows are left out ``at`` an operator inside of it, the
        first round alone can localize: later ones go by lineage, and say so. Raises ReplayError for a program that cannot run on fewer records.
        """
        return clean(self.lineage(target), quality, enough, rounds, suspects, at, edit, self._localize)
