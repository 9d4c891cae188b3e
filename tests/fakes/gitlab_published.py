"""What GitLab's own OpenAPI document says of the calls we make, as facts: names, types, what is needed.

The document is under a licence that asks for the same (CC BY-SA 4.0), so it is not kept here: `published` in
`gitlab_shapes.json` has what was derived, and from which copy. By hand, with a file of the document:

    python -m tests.fakes.gitlab_published FILE REPOSITORY COMMIT PATH
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.gitlab_document import ANSWERS, BODIES, KEPT

_API = "/api/v4"
_BESIDES: dict[str, frozenset[str]] = {
    "POST /projects/{id}/repository/commits/{sha}/comments": frozenset({"line", "line_type"}),
    "POST /projects/{id}/repository/commits": frozenset({"previous_path", "execute_filemode"}),
}
"""Fields that stand there as always needed, and belong to another use of the call: a comment on a line, a file that is
moved or made executable. Its own guide calls them optional."""
_KINDS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def published() -> dict[str, Any]:
    """`from` says which copy; `calls` has by `METHOD path` the `query`, the `body` and the `answer`."""
    told: dict[str, Any] = json.loads(KEPT.read_text())["published"]
    return told


def faults_of_query(call: str, query: Mapping[str, str]) -> list[str]:
    """What of a query the document does not have, or has otherwise."""
    known = published()["calls"][call]["query"]
    wrong = [f"{name}: no such parameter" for name in query if name not in known]
    wrong += [f"{name} is missing" for name, one in known.items() if one.get("needed") and name not in query]
    for name, text in query.items():
        if name not in known:
            continue
        if known[name]["type"] == "integer" and not text.isdigit():
            wrong.append(f"{name}: {text!r} is not an integer")
        if "one_of" in known[name] and text not in known[name]["one_of"]:
            wrong.append(f"{name}: {text!r} is none of {known[name]['one_of']}")
    return wrong


def faults_of_body(call: str, body: Mapping[str, Any]) -> list[str]:
    """The same of what is sent."""
    return list(_faults(published()["calls"][call]["body"], body, _BESIDES.get(call, frozenset()), ""))


def unknown_fields(call: str, answer: Mapping[str, Any]) -> list[str]:
    """Fields of an answer that the document does not have. Of some answers it says nothing: any field is right."""
    known = published()["calls"][call]["answer"]
    return [name for name in answer if known is not None and name not in known]


def _faults(known: Mapping[str, Any], given: Mapping[str, Any], besides: frozenset[str], where: str) -> Iterator[str]:
    for name, one in known.items():
        if one.get("needed") and name not in given and name not in besides:
            yield f"{where}{name} is missing"
    for name, value in given.items():
        if name not in known:
            yield f"{where}{name}: no such field"
        elif not isinstance(value, _KINDS[known[name]["type"]]):
            yield f"{where}{name}: no {known[name]['type']}"
        elif "one_of" in known[name] and value not in known[name]["one_of"]:
            yield f"{where}{name}: {value!r} is none of {known[name]['one_of']}"
        elif "items" in known[name]:
            for number, item in enumerate(value):
                yield from _faults(known[name]["items"], item, besides, f"{where}{name}[{number}].")


def _derived(document: dict[str, Any]) -> dict[str, Any]:
    calls = sorted({name.rpartition(" ")[0] for name in ANSWERS} | set(BODIES))
    return {call: _call(document, call) for call in calls}


def _call(document: dict[str, Any], call: str) -> dict[str, Any]:
    method, _, path = call.partition(" ")
    operation = document["paths"][_API + path][method.lower()]
    parameters = operation["parameters"]
    bodies = [_meant(document, p["schema"]) for p in parameters if p["in"] == "body"]
    good = next(told for status, told in sorted(operation["responses"].items()) if status.startswith("2"))
    schema = _meant(document, good.get("schema", {}))
    schema = _meant(document, schema.get("items", schema))
    return {
        "query": {p["name"]: _fact(p, needed=p.get("required", False)) for p in parameters if p["in"] == "query"},
        "body": _fields(bodies[0]) if bodies else None,
        "answer": sorted(schema["properties"]) if "properties" in schema else None,
    }


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    needed = schema.get("required", ())
    return {name: _fact(one, needed=name in needed) for name, one in schema["properties"].items()}


def _fact(one: Mapping[str, Any], *, needed: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"type": one["type"]}
    if needed:
        made["needed"] = True
    if "enum" in one:
        made["one_of"] = one["enum"]
    if "properties" in one.get("items", {}):
        made["items"] = _fields(one["items"])
    return made


def _meant(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document["definitions"][schema["$ref"].rpartition("/")[2]]
    return found


if __name__ == "__main__":
    file, repository, commit, path = sys.argv[1:]
    text = Path(file).read_bytes()
    document = yaml.safe_load(text)
    source = {
        "title": f"{document['info']['title']} {document['info']['version']}, Swagger {document['swagger']}",
        "licence": "CC BY-SA 4.0, GitLab Inc.; names, types and what is needed alone were taken",
        "repository": repository,
        "commit": commit,
        "path": path,
        "sha256": hashlib.sha256(text).hexdigest(),
    }
    kept = json.loads(KEPT.read_text())
    kept["published"] = {"from": source, "calls": _derived(document)}
    KEPT.write_text(json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n")
