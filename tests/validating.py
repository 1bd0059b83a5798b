"""Exports held to the schemas of those who take them (tests/schemas), and to our own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from bigdebug.datasets.atlas import bundle
from bigdebug.datasets.collectors import body_of
from bigdebug.datasets.model import Process
from bigdebug.datasets.openlineage import events

SCHEMAS = Path(__file__).parent / "schemas"
OWN = "bigdebug_recordLineage"


def check_event(event: Any) -> None:
    """Raises AssertionError, with all that is wrong, for what is no OpenLineage event; each facet is held to its own schema, and must have one."""
    wrong = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in _validator("").iter_errors(event)]
    for place, name, facet in _facets(event):
        url = facet.get("_schemaURL", "")
        try:
            validator = _validator(url)
        except LookupError as unknown:
            wrong.append(f"{place}/{name}: no schema {url} ({type(unknown).__name__})")
            continue
        wrong += [f"{place}/{name}/{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(facet)]
    assert not wrong, "\n".join(wrong)


def _facets(event: Any) -> Iterator[tuple[str, str, Any]]:
    holders = [("run", event["run"], "facets"), ("job", event["job"], "facets")]
    for side, own in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        holders += [(f"{side}/{n}", dataset, name) for n, dataset in enumerate(event.get(side, ())) for name in ("facets", own)]
    for place, holder, name in holders:
        for each, facet in holder.get(name, {}).items():
            yield place, each, facet


@cache
def _registry() -> Registry:
    texts = [path.read_text(encoding="utf-8") for path in (SCHEMAS / "openlineage").rglob("*.json")]
    texts += [path.read_text(encoding="utf-8") for path in files("bigdebug.datasets").joinpath("schemas").iterdir()]
    schemas = [json.loads(text) for text in texts]
    for schema in schemas:
        Draft202012Validator.check_schema(schema)
    return Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)


@cache
def _validator(url: str) -> Draft202012Validator:
    """Of what the URL says; of the events themselves for none. Raises LookupError for a schema that is not there."""
    reference = url or "https://openlineage.io/spec/2-0-2/OpenLineage.json"
    _registry().resolver().lookup(reference)
    return Draft202012Validator({"$ref": reference}, registry=_registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)


def check_entities(body: Any) -> None:
    """Raises AssertionError for what is no bundle of Atlas's entities: types, attributes, what they refer to, relationships, names that are unique."""
    types = _atlas()
    entities = {entity["guid"]: entity for entity in [*body["entities"], *body["referredEntities"].values()]}
    assert set(body) == {"entities", "referredEntities"}
    assert len(entities) == len(body["entities"]) + len(body["referredEntities"])
    assert all(guid == entity["guid"] and int(guid) < 0 for guid, entity in entities.items())
    names = [(entity["typeName"], entity["attributes"]["qualifiedName"]) for entity in entities.values()]
    assert len(names) == len(set(names))
    for entity in entities.values():
        _check_attributes(entity, entities, types)
        for name, related in entity.get("relationshipAttributes", {}).items():
            ends = [(this, that) for this, that in types.ends if this["name"] == name and this["type"] in types.above(entity["typeName"])]
            assert ends, f"{entity['typeName']} has no relationship {name}"
            this, that = ends[0]
            assert isinstance(related, list) == (this["cardinality"] == "SET"), name
            for each in related if isinstance(related, list) else [related]:
                _check_reference(each, that["type"], entities, types)


def check_exports(processes: Sequence[Process]) -> None:
    """Raises AssertionError if others could not read what they are told of these processes."""
    for process in processes:
        for event in events(process, spark="4.3.0"):
            check_event(json.loads(body_of(event)))
    check_entities(json.loads(body_of(bundle(processes))))


class _Types:
    def __init__(self, models: list[Any]) -> None:
        self.entities = {each["name"]: each for model in models for each in model.get("entityDefs", ())}
        pairs = [(each["endDef1"], each["endDef2"]) for model in models for each in model.get("relationshipDefs", ())]
        self.ends = [*pairs, *((second, first) for first, second in pairs)]

    def above(self, name: str) -> set[str]:
        """The type, and all that it is a kind of."""
        return {name}.union(*(self.above(each) for each in self.entities[name].get("superTypes", ())))

    def attributes(self, name: str) -> dict[str, Any]:
        return {each["name"]: each for above in self.above(name) for each in self.entities[above].get("attributeDefs", ())}


@cache
def _atlas() -> _Types:
    return _Types([json.loads(path.read_text(encoding="utf-8")) for path in sorted((SCHEMAS / "atlas").glob("*.json"))])


_VALUES = {"string": str, "int": int, "long": int, "boolean": bool}


def _check_attributes(entity: Any, entities: Any, types: _Types) -> None:
    known = types.attributes(entity["typeName"])
    assert set(entity["attributes"]) <= set(known), f"{entity['typeName']} has no {set(entity['attributes']) - set(known)}"
    missing = {name for name, each in known.items() if not each["isOptional"] and entity["attributes"].get(name) is None}
    assert not missing, f"{entity['typeName']} lacks {missing}"
    for name, value in entity["attributes"].items():
        kind = known[name]["typeName"]
        if kind in _VALUES:
            assert type(value) is _VALUES[kind], f"{name}: {value!r} is no {kind}"
        elif kind == "map<string,string>":
            assert all(isinstance(each, str) for pair in value.items() for each in pair), name
        else:
            assert kind == "array<DataSet>", f"{name} is {kind}, which nobody checks"
            for each in value:
                _check_reference(each, "DataSet", entities, types)


def _check_reference(reference: Any, kind: str, entities: Any, types: _Types) -> None:
    entity = entities[reference["guid"]]
    assert kind in types.above(reference["typeName"]), f"{reference['typeName']} is no {kind}"
    assert (entity["typeName"], entity["attributes"]["qualifiedName"]) == (reference["typeName"], reference["uniqueAttributes"]["qualifiedName"])
