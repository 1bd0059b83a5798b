"""Exports held to the schemas of those who take them (tests/schemas), and to our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

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
