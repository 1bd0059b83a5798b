"""Expressions: Spark's expressions over the gateway, read and made. The one place that knows their classes and versions.

Window functions are in ``windows.py``, and what is in an expression ``trees.py`` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType

from bigdebug.spark.gateway import array_of, classes, items, remembered
from bigdebug.spark.sql.plans.balanced import balanced

Node = Any
"""A logical plan in the JVM."""

Expr = Any
"""An expression in the JVM."""

_COLUMN: Any = ClassicColumn
"""Its __new__ is declared to give PySpark's abstract one."""

_PLAIN = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "timestamp")
"""Types of which a hash takes less time than a struct."""


class Expressions:
    """Reads and makes expressions in the JVM of one SparkSession. A call of the JVM takes 0.1 to 0.3 ms."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.jvm = classes(spark._jvm)
        self._are: dict[tuple[str, str], bool] = {}
        self._expressions = self.jvm.org.apache.spark.sql.catalyst.expressions

    # ---- collections ------------------------------------------------------------------------------------------

    def items(self, seq: Any) -> list[Any]:
        """The elements of a Scala Seq."""
        return items(seq)

    def array(self, items: Sequence[Any]) -> Any:
        """Objects in an array of Java's."""
        return array_of(self.spark.sparkContext, self.jvm.java.lang.Object, items)

    def seq(self, items: Iterable[Any]) -> Any:
        return self.jvm.PythonUtils.toSeq(list(items))

    def some(self, value: Any) -> Any:
        """A Scala Option; of None, the empty one."""
        return self.jvm.scala.Option.apply(value)

    def is_a(self, value: Any, name: str) -> bool:
        """Whether a value of the JVM is an instance of a class. Each value is asked once which class it is of, and each class once of which others it is."""
        if not isinstance(value, JavaObject):
            return False
        kind = remembered(value, "class", lambda: str(self.jvm.org.apache.commons.lang3.ClassUtils.getName(value)))
        if (kind, name) not in self._are:
            self._are[kind, name] = bool(self.jvm.py4j.reflection.TypeUtil.isInstanceOf(name, value))
        return self._are[kind, name]

    # ---- trees ------------------------------------------------------------------------------------------------

    def children(self, node: Node) -> list[Node]:
        return [*remembered(node, "children", lambda: self.items(node.children()))]

    def name(self, tree: Node | Expr) -> str:
        return remembered(tree, "name", lambda: str(tree.nodeName()))

    def expressions(self, node: Node) -> list[Expr]:
        """What a node computes, decides by, or shows."""
        return [*remembered(node, "expressions", lambda: self.items(node.expressions()))]

    def changed(self, tree: Node | Expr, arguments: Mapping[int, Any]) -> Any:
        """A plan, or an expression, with some arguments of its constructor replaced; their number differs between versions."""
        return tree.makeCopy(self.array([arguments[i] if i in arguments else tree.productElement(i) for i in range(tree.productArity())]))

    def with_arguments(self, tree: Node | Expr, arguments: Mapping[str, Any]) -> Any:
        """As ``changed``, of arguments by their names."""
        names = [tree.productElementName(i) for i in range(tree.productArity())]
        return self.changed(tree, {names.index(name): value for name, value in arguments.items()})

    # ---- expressions ------------------------------------------------------------------------------------------

    def column(self, expression: Expr) -> Column:
        found: Column = _COLUMN(self.jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))
        return found

    def alias(self, expression: Expr, name: str) -> Expr:
        """A new column of that name."""
        expressions = self._expressions
        fresh = self._object("NamedExpression").newExprId()
        return expressions.Alias(expression, name, fresh, self.seq([]), self._nothing, self.seq([]))

    def renamed(self, expression: Expr, column: Expr) -> Expr:
        """``expression`` in the place of a column: under its name and id."""
        return self._expressions.Alias(expression, column.name(), column.exprId(), self.seq([]), self._nothing, self.seq([]))

    def collation_key(self, expression: Expr) -> Expr:
        """Bytes that are equal where text is, as its collation has it."""
        return self._expressions.CollationKey(expression)

    def cast(self, expression: Expr, *kinds: str) -> Expr:
        """The expression cast to a type, and that to the next; to types that all its values have a place in."""
        for kind in kinds:
            made = self.jvm.org.apache.spark.sql.types.DataType.fromDDL(kind)
            expression = self._expressions.Cast(expression, made, self._nothing, self._expressions.EvalMode.LEGACY())
        return expression

    def as_type(self, expression: Expr, kind: str) -> Expr:
        """The expression cast to a type, as PySpark's ``json()`` tells it: a field may be called anything."""
        return self._expressions.Cast(expression, self.jvm.org.apache.spark.sql.types.DataType.fromJson(kind), self._nothing, self._expressions.EvalMode.LEGACY())

    def has_room(self, cast: Expr) -> bool:
        """Whether the type of a cast has a place for all values of the type that it casts."""
        return bool(self._expressions.Cast.canUpCast(cast.child().dataType(), cast.dataType()))

    def is_computed(self, expression: Expr) -> Expr:
        """Whether computing an expression does not throw, on a row."""
        # Within what is not NULL itself: of what cannot be NULL, the optimizer would know whether it is without computing it.
        if _is_plain(expression):
            tried = self._tried_cast(expression)
            if tried is not None:
                return self._expressions.Or(self.is_not_null(tried), self.is_null(expression.child()))
            made = self._expressions.Murmur3Hash(self.seq([expression]), 42)
        else:
            made = self.named([expression])
        return self._expressions.IsNotNull(self._expressions.TryEval(made))

    def try_eval(self, expression: Expr) -> Expr:
        """NULL where an expression throws."""
        return self._tried_cast(expression) or self.tried(expression)

    def tried(self, expression: Expr) -> Expr:
        """The same, of an expression that is no cast."""
        return self._expressions.TryEval(expression)

    def _tried_cast(self, expression: Expr) -> Expr | None:
        """A cast of a column that gives NULL where ``expression``, which is one, throws, and makes no exception for that, each of which takes
        as long as a hundred casts; None if it is another expression."""
        if self.name(expression) != "Cast" or not _is_plain(expression) or expression.evalMode().toString() != "ANSI":
            return None
        given = expression.child()
        if given.nodeName() != "AttributeReference" or not (_is_plain(given) or given.dataType().simpleString() == "string"):
            return None
        tried = self.with_arguments(expression, {"evalMode": self._expressions.EvalMode.TRY()})
        # Spark takes a date for one that is always a timestamp, too, which it is not ten thousand generations from now.
        return tried if tried.nullable() else None

    def object_literal(self, value: Any, kind: str) -> Expr:
        """An object of the JVM of a class, as an expression; each task has a copy of it."""
        return self._expressions.Literal(value, self._kind_of(kind))

    def invoked(self, target: Expr, method: str, gives: Any, arguments: Sequence[Expr] = ()) -> Expr:
        """What a method of an object gives, which may be nothing: a type, or a class by its name."""
        gives = self._kind_of(gives) if isinstance(gives, str) else gives
        return self._expressions.objects.Invoke(target, method, gives, self.seq(arguments), self.seq([]), True, True, True)

    def _kind_of(self, name: str) -> Any:
        return self.jvm.org.apache.spark.sql.types.ObjectType(self.jvm.java.lang.Class.forName(name))

    def first_known(self, expressions: Sequence[Expr]) -> Expr:
        """The first that is not NULL; those behind it are not computed."""
        return self._expressions.Coalesce(self.seq(expressions))

    def all_hold(self, conditions: Sequence[Expr]) -> Expr:
        return balanced(self._expressions.And, conditions)

    def one_holds(self, one: Expr, other: Expr) -> Expr:
        return self._expressions.Or(one, other)

    def greatest(self, values: Sequence[Expr]) -> Expr:
        """The greatest of some values, all of which are computed; whether one of some conditions holds."""
        return self._expressions.Greatest(self.seq(values)) if len(values) > 1 else values[0]

    def equal(self, one: Expr, other: Expr) -> Expr:
        return self._expressions.EqualTo(one, other)

    def less(self, one: Expr, other: Expr) -> Expr:
        return self._expressions.LessThan(one, other)

    def negated(self, condition: Expr) -> Expr:
        return self._expressions.Not(condition)

    def kind(self, told: DataType) -> Any:
        """A type, in the JVM."""
        return self.jvm.org.apache.spark.sql.types.DataType.fromJson(told.json())

    def anew(self, function: Expr) -> Expr:
        """A function of many rows with a value of its own."""
        return self.with_arguments(function, {"resultId": self._object("NamedExpression").newExprId()})

    def hexed(self, expression: Expr) -> Expr:
        """The text of bytes, two digits for each."""
        return self._expressions.Hex(expression)

    def is_null(self, expression: Expr) -> Expr:
        return self._expressions.IsNull(expression)

    def is_not_null(self, expression: Expr) -> Expr:
        return self._expressions.IsNotNull(expression)

    def when_none(self, columns: Sequence[Expr], value: Expr) -> Expr:
        """``value`` where all columns are NULL, else NULL."""
        return self.either(self.all_hold([self._expressions.IsNull(column) for column in columns]), value, self.null_of(value))

    def either(self, condition: Expr, value: Expr, other: Expr) -> Expr:
        """``value`` where a condition holds, else ``other``, and only that is computed."""
        return self._expressions.If(condition, value, other)

    def field(self, struct: Expr, at: int) -> Expr:
        return self._expressions.GetStructField(struct, at, self._nothing)

    def literal(self, value: Any, kind: str) -> Expr:
        """A literal of a type, given as Spark writes it: ``bigint``, ``struct<a:int>``."""
        return self.null(kind) if value is None else self._literals.apply(value)

    def whole(self, value: int) -> Expr:
        """A literal of a bigint, which a small number would not be."""
        return self.cast(self._literals.apply(value), "BIGINT")

    def constant(self, value: Any, like: Expr) -> Expr:
        """A literal of the type of another expression; ``value`` as Spark holds it."""
        return self._literals.create(value, like.dataType())

    def null(self, kind: str) -> Expr:
        return self._literals.create(None, self.jvm.org.apache.spark.sql.types.DataType.fromDDL(kind))

    def null_of(self, expression: Expr) -> Expr:
        """NULL of the type of another expression."""
        return self._literals.create(None, expression.dataType())

    def struct(self, expressions: Sequence[Expr]) -> Expr:
        """A struct that is never NULL itself, of fields ``_0``, ``_1``, ... that may be.

        Where an outer join leaves the struct out, PySpark's toArrow would not have fields that may not be NULL; nor would it where one of them is a struct
        that is NULL, so what is in them may be NULL, too.
        """
        true = self._literals.apply(True)
        lenient = [self.lenient(e) for e in expressions]
        fields = [e if e.nullable() else self._expressions.If(true, e, self.null_of(e)) for e in lenient]
        named = [part for i, e in enumerate(fields) for part in (self._literals.apply(f"_{i}"), e)]
        return self._expressions.CreateNamedStruct(self.seq(named))

    def lenient(self, expression: Expr) -> Expr:
        """The expression with a type in which everything may be NULL."""
        kind = expression.dataType()
        lenient = kind.asNullable()
        return expression if kind.equals(lenient) else self._expressions.Cast(expression, lenient, self._nothing, self._expressions.EvalMode.LEGACY())

    def named(self, expressions: Sequence[Expr]) -> Expr:
        """A struct of expressions as they are, of fields ``_0``, ``_1``, ..."""
        return self._expressions.CreateNamedStruct(self.seq([part for i, e in enumerate(expressions) for part in (self._literals.apply(f"_{i}"), e)]))

    def named_struct(self, columns: Sequence[Expr]) -> Expr:
        """A struct of columns, by their names."""
        return self._expressions.CreateNamedStruct(self.seq([part for c in columns for part in (self._literals.apply(c.name()), c)]))

    def raising(self, error: str, told: Mapping[str, Expr], like: Expr) -> Expr:
        """What throws an error of Spark's, by the name of its class and what its message tells; of the type of another expression."""
        texts = [self.cast(part, "STRING") for name, value in told.items() for part in (self._literals.apply(name), value)]
        named = self._expressions.CreateMap(self.seq(texts), False) if texts else self._literals.default(self.jvm.org.apache.spark.sql.types.DataType.fromDDL("MAP<STRING, STRING>"))
        return self._expressions.RaiseError(self._literals.apply(error), named, like.dataType())

    def _object(self, name: str) -> Any:
        """An object of the expressions' package."""
        return getattr(getattr(self._expressions, f"{name}$"), "MODULE$")

    @cached_property
    def _literals(self) -> Any:
        return self._object("Literal")

    @cached_property
    def _nothing(self) -> Any:
        """Scala's None."""
        return getattr(getattr(self.jvm.scala, "None$"), "MODULE$")


def _is_plain(expression: Expr) -> bool:
    return expression.dataType().simpleString() in _PLAIN
