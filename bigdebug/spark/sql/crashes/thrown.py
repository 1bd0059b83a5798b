"""Thrown: what Spark's expressions throw in the JVM, on all rows at once.

A call of the gateway for each row would take longer than the query. Method handles make a function of an expression that gives the text
of what it throws, and a list of the JVM's applies it to its rows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from linecache import getline
from typing import Any, NamedTuple

from pyspark.errors.exceptions.captured import convert_exception

from bigdebug.graph import CallSite
from bigdebug.spark.collector import waiting
from bigdebug.spark.gateway import raised_by
from bigdebug.spark.sql.plans.builders import builds
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.unlogged import unlogged

_CATALYST = "org.apache.spark.sql.catalyst"

_NONDETERMINISTIC = f"{_CATALYST}.expressions.Nondeterministic"

_CONTEXT = re.compile(r"\n(?=== (?:SQL|DataFrame))")
"""Where the text of an exception comes to the place of the query."""

_FEW = 10
"""Different texts of which each row's is looked for among all of them, and told by a digit, rather than sent for each row."""

_AT_ONCE = 8_000
"""Characters that the gateway gives in one answer: one of more than 8 KB waits for the network's acknowledgement of the first ones, 44 ms."""

_NAMES: dict[str, str] = {}
"""What PySpark calls exceptions, by their class in the JVM: to ask takes seventy calls of the gateway."""

_THROWABLE = "org.apache.spark.SparkThrowable"


class Thrown(NamedTuple):
    """What an expression throws: the name of the exception, its message, the user's line, and the piece of the query as Spark shows it."""

    exception: str
    message: str
    line: CallSite | None = None
    place: str = ""


UNREPEATED = Thrown("Exception", "it throws in this query, and not by itself")
"""Of rows on which none of the expressions throws when it is computed on the row alone, or which draw."""


class Exceptions:
    """Exceptions of the JVM as PySpark names them."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._places: dict[str, tuple[CallSite | None, str]] = {}
        self._known: dict[str, Thrown] = {}

    def thrown(self, expressions: Sequence[Expr], plan: Node, rows: Any) -> list[Thrown]:
        """What, on each row of a plan, in a Scala Seq, the first of the expressions does throw that throws on it."""
        found = [UNREPEATED] * int(rows.length())
        columns = self._catalyst.items(plan.output()) if found else []
        for expression in expressions if found else ():
            if _draws(self._catalyst, expression):
                continue
            with self._catalyst.active():
                texts = self._texts(expression, columns, rows)
            bound = self._catalyst.bound(expression, columns)
            with waiting():
                for number, text in enumerate(texts):
                    if text and found[number] is UNREPEATED:
                        found[number] = self._told(text, bound, rows, number)
        return found

    def _texts(self, expression: Expr, columns: Sequence[Expr], rows: Any) -> list[str]:
        """What an expression throws on each row, as Java prints it; nothing where it throws nothing.

        It is computed once on what it reads of rows that are alike: to throw takes longer than all else.
        """
        c, jvm = self._catalyst, self._catalyst.jvm
        references = expression.references()
        read = [column for column in columns if references.contains(column)]
        handles, method, proxies = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType.methodType, jvm.java.lang.invoke.MethodHandleProxies
        lookup, load = handles.publicLookup(), expression.getClass().getClassLoader().loadClass
        anything, throwable, function = load("java.lang.Object"), load("java.lang.Throwable"), load("java.util.function.Function")
        row, unsafe = load(f"{_CATALYST}.InternalRow"), load(f"{_CATALYST}.expressions.UnsafeRow")

        kind, tree, bound = load(f"{_CATALYST}.expressions.Expression"), load(f"{_CATALYST}.trees.TreeNode"), c.bound(expression, read)
        evaluated = lookup.findVirtual(kind, "eval", method(anything, row))
        if builds(c, expression):  # a copy for each row
            copied = lookup.findVirtual(kind, "clone", method(tree)).bindTo(bound).asType(method(kind))
            evaluated = handles.foldArguments(evaluated, copied)
        else:
            evaluated = evaluated.bindTo(bound)
        nothing = handles.dropArguments(handles.constant(anything, ""), 0, jvm.java.util.Collections.singletonList(anything))
        quiet = handles.filterReturnValue(evaluated.asType(method(anything, anything)), nothing)
        printed = lookup.findVirtual(throwable, "toString", method(load("java.lang.String")))
        text = handles.catchException(quiet, throwable, printed.asType(method(anything, throwable)))

        narrowed = lookup.findVirtual(load(f"{_CATALYST}.expressions.UnsafeProjection"), "apply", method(unsafe, row)).bindTo(c.projection(read, columns))
        narrowed = handles.filterReturnValue(narrowed, lookup.findVirtual(unsafe, "copy", method(unsafe))).asType(method(anything, anything))
        asked = lookup.findVirtual(load("java.util.HashMap"), "computeIfAbsent", method(anything, jvm.java.util.Arrays.asList(c.array([anything, function]))))
        once = handles.insertArguments(asked.bindTo(jvm.java.util.HashMap()), 1, c.array([proxies.asInterfaceInstance(function, text)]))

        texts = jvm.java.util.ArrayList(jvm.scala.jdk.javaapi.CollectionConverters.asJava(rows))
        texts.replaceAll(proxies.asInterfaceInstance(load("java.util.function.UnaryOperator"), handles.filterReturnValue(narrowed, once)))
        different = jvm.java.util.ArrayList(jvm.java.util.LinkedHashSet(texts))
        if int(different.size()) > _FEW:
            return _split(jvm, texts)
        known = _split(jvm, different)
        index = lookup.findVirtual(load("java.util.ArrayList"), "indexOf", method(jvm.java.lang.Integer.TYPE, anything)).bindTo(different)
        digit = handles.filterReturnValue(index.asType(method(anything, anything)), lookup.findVirtual(anything, "toString", method(load("java.lang.String"))))
        texts.replaceAll(proxies.asInterfaceInstance(load("java.util.function.UnaryOperator"), digit.asType(method(anything, anything))))
        some = (texts.subList(start, min(start + _AT_ONCE, texts.size())) for start in range(0, texts.size(), _AT_ONCE))
        return [known[int(number)] for each in some for number in jvm.java.lang.String.join("", each)]

    def _told(self, text: str, expression: Expr, rows: Any, number: int) -> Thrown:
        """Of the first exception of a kind, and from a place of the query, more is asked than its text. Most bad values are the same."""
        if text in self._known:
            return self._known[text]
        kind, _, told = text.partition(": ")
        message, *context = _CONTEXT.split(told)
        place = "".join(context)
        if kind not in _NAMES or place not in self._places:
            raised = raised_by(expression.eval, rows.apply(number))
            if kind not in _NAMES:
                _NAMES[kind] = name_of(raised)
            contexts: Any = raised.getQueryContext() if self._catalyst.is_a(raised, _THROWABLE) else ()
            self._places[place] = (_line(contexts[0]), contexts[0].summary().strip()) if len(contexts) else (None, "")
        self._known[text] = Thrown(_NAMES[kind], message, *self._places[place])
        return self._known[text]


def _draws(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an expression draws numbers, or asks the task: of the row alone it would give something else. A function is only said to, and is called."""
    if expression.deterministic():
        return False
    return catalyst.is_a(expression, _NONDETERMINISTIC) or any(_draws(catalyst, part) for part in catalyst.children(expression))


def _split(jvm: Any, texts: Any) -> list[str]:
    """The texts of a list of the JVM's, in one call."""
    between = f"\n{uuid.uuid4()}\n"
    return str(jvm.java.lang.String.join(between, texts)).split(between)


def name_of(raised: Any) -> str:
    """What PySpark calls an exception of the JVM, or the JVM does."""
    with unlogged():
        name = type(convert_exception(raised)).__name__
    return str(raised.getClass().getSimpleName()) if name == "UnknownException" else name


def _line(context: Any) -> CallSite | None:
    """Where a part of a query stands: the line of Python that made it, or the line within the SQL. Of most functions Spark knows a line of Java."""
    if context.contextType().toString() == "DataFrame":
        file, _, line = context.callSite().rpartition(":")
        if not line.isdigit():
            return None
        return CallSite(file, int(line), getline(file, int(line)).strip())
    before = re.search(r"\(line (\d+)", context.summary())
    return CallSite("SQL", int(before[1]) if before else 1, context.fragment())
