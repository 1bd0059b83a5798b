"""Tables: commands that make, alter, rename, empty and drop tables, and databases of them, and write no rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from bigdebug.datasets.plans import Tree, plan_of
from bigdebug.errors import DatasetsError
from bigdebug.spark.datasets.accesses import schema_of
from bigdebug.spark.datasets.names import UNTOLD
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import Node, Source, Target
from bigdebug.spark.gateway import items


def created(r: Relations, tree: Tree, node: Node) -> Target:
    described = r.there(node.table().identifier()) or node.table()
    made, asked = int(described.createTime()), int(node.table().createTime())
    return Target(
        r.of_catalog(described), "created", schema=schema_of(described),
        spares=bool(node.ignoreIfExists()) and made not in (asked, asked // 1000 * 1000),  # a metastore counts in seconds
    )


def like(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_identifier(node.targetTable()), "created", reads=(r.of_identifier(node.sourceTable()),))


def named(field: str, mode: str, emptied: bool, r: Relations, tree: Tree, node: Node) -> Target:
    """A command over a TableIdentifier."""
    identifier = getattr(node, field)()
    found = r.there(identifier) if mode == "altered" else None
    if found is not None:
        return Target(r.of_catalog(found), mode, schema=schema_of(found))
    return Target(r.of_identifier(identifier, "view" if tree.fields.get("isView") else "table"), mode, emptied=emptied)


def resolved(field: str, mode: str, emptied: bool, r: Relations, tree: Tree, node: Node) -> Target:
    """A command over a ResolvedTable, or a ResolvedIdentifier."""
    child = getattr(node, field)()
    return Target(r.of_catalog_v2(child.catalog(), child.identifier()), mode, emptied=emptied)


def dropped(r: Relations, tree: Tree, node: Node) -> Target:
    return _if_it_was_there(r, named("tableName", "dropped", False, r, tree, node), node)


def dropped_v2(r: Relations, tree: Tree, node: Node) -> Target:
    target = resolved("child", "dropped", False, r, tree, node)
    return _if_it_was_there(r, target, node) if str(node.child().catalog().name()) == "spark_catalog" else target  # others tell nobody


def database(r: Relations, tree: Tree, node: Node) -> Target | None:
    """DROP DATABASE, with its tables if it cascades: those in its folder meet it. None in another catalog than Spark's."""
    space = node.namespace()
    if str(space.catalog().name()) != "spark_catalog":
        return None
    name = r.cased(".".join(str(part) for part in items(space.namespace())))
    elsewhere = (f"tables of {name} in other folders",) if node.cascade() else ()
    was_there = r.seen.dropped(name)
    return Target(r.of_database(name), "dropped", opaque=elsewhere, spares=bool(node.ifExists()) and not was_there)


def renamed(r: Relations, tree: Tree, node: Node) -> Target:
    kind = "view" if node.isView() else "table"
    old, new = node.oldName(), node.newName()
    identifier = r.identifier(str(new.table()), new.database() if new.database().isDefined() else old.database())
    if kind == "view" and r.passes(identifier):
        made, before = r.of_session_view(str(new.table()), defines=True), r.of_session_view(str(old.table()))
        there = None
    else:
        there = r.there(identifier)
        made, before = r.of_identifier(identifier, kind) if there is None else r.of_catalog(there), r.of_identifier(old, kind)
    known = r.defined(identifier) if kind == "view" else None
    if known is not None:  # nothing is followed through a view: it says itself what it is made of
        with suppress(*UNTOLD, DatasetsError):
            return Target(made, "renamed", Source(plan_of(str(known.toJSON())), known), reads=(before,))
    return Target(made, "renamed", reads=(before,), schema=() if there is None else schema_of(there))


def renamed_v2(r: Relations, tree: Tree, node: Node) -> Target:
    child = node.child()
    catalog, identifier = child.catalog(), child.identifier()
    new = [str(part) for part in items(node.newName())]
    if len(new) > 1 and new[0] == str(catalog.name()):
        del new[0]
    elif len(new) == 1:
        new = [*(str(part) for part in identifier.namespace()), *new]
    return Target(r.of_catalog_name(catalog, new), "renamed", reads=(r.of_catalog_v2(catalog, identifier),))


def truncated(r: Relations, tree: Tree, node: Node) -> Target:
    """TRUNCATE TABLE; of one partition: how many rows stay is not known, and none come."""
    if node.partitionSpec().isDefined():
        return named("tableName", "altered", False, r, tree, node)
    return named("tableName", "truncated", True, r, tree, node)


def _if_it_was_there(r: Relations, target: Target, node: Node) -> Target:
    was_there = r.seen.dropped(target.dataset.name)
    return replace(target, spares=bool(node.ifExists()) and not was_there)
