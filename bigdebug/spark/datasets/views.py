"""Views: commands that give rows a name, or take one away: views, caches by name, and variables of the session."""

from __future__ import annotations

from bigdebug.datasets.naming import of_sources
from bigdebug.datasets.plans import Tree
from bigdebug.spark.datasets.names import UNTOLD
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import Node, Target, source_of
from bigdebug.spark.gateway import items


def view(r: Relations, tree: Tree, node: Node) -> Target:
    """CREATE VIEW; it did nothing where IF NOT EXISTS found a view of another text."""
    kind = str(node.viewType().toString())
    names = tuple(str(each._1()) for each in items(node.userSpecifiedColumns()))
    known = r.there(node.name()) if node.allowExisting() else None
    spares = known is not None and str(known.viewText()) != str(node.originalText())
    return Target(r.of_view(node.name(), kind), "defined", None if spares else source_of(tree, node, "plan"), names, spares=spares)


def view_using(r: Relations, tree: Tree, node: Node) -> Target:
    """CREATE TEMPORARY VIEW ... USING: files, or what a source has, by a name."""
    options = dict(r.java(node.options()))
    r.learn(options)
    form, name = str(node.provider()).lower(), str(node.tableIdent().table())
    path = next((value for key, value in options.items() if key.lower() == "path"), "")
    sources = (r.of_place(path, form),) if path else of_sources(form, options)
    return Target(r.of_session_view(f"{'global_temp.' * bool(getattr(node, 'global')())}{name}", defines=True), "defined", reads=sources)


def view_again(r: Relations, tree: Tree, node: Node) -> Target:
    """ALTER VIEW ... AS. The session is not asked of which kind it is, for it may be gone by now: one that stays is named with its database."""
    name = node.name()
    database = str(name.database().get()) if name.database().isDefined() else ""
    return Target(r.of_view(name, {"": "LocalTempView", "global_temp": "GlobalTempView"}.get(database.lower(), "PersistedView")), "defined", source_of(tree, node))


def cached(r: Relations, tree: Tree, node: Node) -> Target:
    """CACHE TABLE, of a table or a view that is there."""
    name = ".".join(str(part) for part in items(node.multipartIdentifier()))
    return Target(r.of_cached(name), "created", source_of(tree, node, "table"))


def cached_as(r: Relations, tree: Tree, node: Node) -> Target:
    """CACHE TABLE ... AS: a cache, and a temporary view of its name."""
    name = str(node.tempViewName())
    return Target(r.of_cached(name), "created", source_of(tree, node, "plan"), besides=(r.of_session_view(name, defines=True),))


def dropped_view(r: Relations, tree: Tree, node: Node) -> Target:
    """DROP VIEW of a temporary view."""
    named = node.ident()
    return Target(r.of_session_view(".".join([*(str(part) for part in named.namespace()), str(named.name())])), "dropped")


def set_variables(r: Relations, tree: Tree, node: Node) -> Target:
    """SET VARIABLE, to what a query gives."""
    names = variables_of(node)
    first, *others = map(r.of_variable, names)
    return Target(first, "defined", source_of(tree, node, "sourceQuery"), names, besides=tuple(others))


def variables_of(node: Node) -> tuple[str, ...]:
    """The variables that a SET VARIABLE sets."""
    return tuple(str(each.originalNameParts().last()).lower() for each in items(node.targetVariables()))


def declared_by(node: Node) -> tuple[str, ...]:
    """The variables that a DECLARE VARIABLE makes: before Spark 4.1 one."""
    try:
        named = items(node.names())
    except UNTOLD:
        named = [node.name()]
    return tuple(str(each.identifier().name()).lower() for each in named)
