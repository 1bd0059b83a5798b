"""The gateway to the JVM: classes and static methods, each looked up once.

Py4J asks the JVM for each part of a name each time that it is written: five calls for ``org.apache.spark.sql.X``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from py4j.java_gateway import JavaClass, JavaMember, JavaObject, JavaPackage
from py4j.protocol import CALL_COMMAND_NAME, END_COMMAND_PART, Py4JJavaError, get_return_value

from bigdebug.spark.patience import asking

Answer = TypeVar("Answer")


class Classes:
    """A package or a class of the JVM; its parts are remembered."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if isinstance(found, (JavaPackage, JavaClass)):
            found = Classes(found)
        vars(self)[name] = found
        return found

    def __call__(self, *arguments: Any) -> Any:
        """A new instance of the class."""
        return self._part(*arguments)


@lru_cache(maxsize=1)
def classes(jvm: Any) -> Classes:
    """All that a JVM knows by name."""
    return Classes(jvm)


def items(sequence: Any) -> list[Any]:
    """What a sequence of Scala's has in it. A call of the JVM for each. Raises OutOfPatience where nobody waits for it any more."""
    asking()
    return [sequence.apply(i) for i in range(sequence.size())]


def remembered(asked: JavaObject, what: str, answer: Callable[[], Answer]) -> Answer:
    """What an object of the JVM that never changes, as a plan and its parts, answers to a question by this name: it is asked once, as long as this handle of it is held."""
    known: dict[str, Any] = vars(asked).setdefault("_bigdebug", {})
    if what not in known:
        known[what] = answer()
    found: Answer = known[what]
    return found


def elements(listed: Any) -> list[Any]:
    """What a list of Java's has in it. Py4J's own iteration ends by an exception, of which PySpark asks in eighty calls what it is."""
    return [listed.get(i) for i in range(listed.size())]


def array_of(sc: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Values in an array of a class of Java's."""
    made = sc._gateway.new_array(kind, len(values))
    for i, value in enumerate(values):
        made[i] = value
    return made


def raised_by(member: JavaMember, *arguments: Any) -> Any:
    """The exception, in the JVM, that a call of its raises; None if it raises none.

    PySpark makes an exception of its own of each, which takes some thirty calls.
    """
    command, temporary = member._build_args(*arguments)
    answer = member.gateway_client.send_command(f"{CALL_COMMAND_NAME}{member.command_header}{command}{END_COMMAND_PART}")
    try:
        get_return_value(answer, member.gateway_client, member.target_id, member.name)
    except Py4JJavaError as problem:
        return problem.java_exception
    finally:
        for argument in temporary:
            argument._detach()
    return None


def pruned(jvm: Any, rdd: Any, partitions: Sequence[int]) -> Any:
    """Some partitions of an RDD of Scala's, in their order; ``jvm`` as ``classes`` gives it."""
    wanted = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.HashSet(list(partitions)))
    return getattr(getattr(jvm.org.apache.spark.rdd, "PartitionPruningRDD$"), "MODULE$").create(rdd, wanted)
