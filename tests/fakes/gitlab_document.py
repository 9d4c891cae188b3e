"""What a published client of GitLab says of the calls we make; `gitlab_shapes.json` holds those parts as JSON Schema.

GitLab's own OpenAPI document says what may be asked and sent (`gitlab_published`), and of answers little more than the
names of fields. So the fake is held besides to the types of npm `@gitbeaker/core` 43.8.0 (MIT, (c) 2025 Justin
Dalrymple): `package/dist/index.d.ts`. By hand, with that file unpacked:

    python -m tests.fakes.gitlab_document FILE

Where GitLab's document says less is allowed, or more is needed, its word counts: `UNKNOWN` and `NEEDED`.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("gitlab_shapes.json")

_COMMITS = "/projects/{id}/repository/commits"

ANSWERS = {
    f"GET {_COMMITS}/{{sha}}/statuses 200": ("CommitStatusSchema", True),
    "POST /projects/{id}/statuses/{sha} 201": ("CommitStatusSchema", False),
    f"GET {_COMMITS}/{{sha}}/comments 200": ("CondensedCommitCommentSchema", True),
    f"POST {_COMMITS}/{{sha}}/comments 201": ("CondensedCommitCommentSchema", False),
    "GET /projects/{id}/repository/files/{file_path} 200": ("RepositoryFileExpandedSchema", False),
    "GET /projects/{id}/repository/branches/{branch} 200": ("BranchSchema", False),
    f"POST {_COMMITS} 201": ("CommitSchema", False),
    "GET /projects/{id}/merge_requests 200": ("MergeRequestSchema", True),
    "POST /projects/{id}/merge_requests 201": ("MergeRequestSchema", False),
}
"""Answers that the adapter reads, with the type of each, and whether it is a list of them."""

BODIES = {
    "POST /projects/{id}/statuses/{sha}": ("EditPipelineStatusOptions", {"state": "CommitablePipelineStatus"}),
    f"POST {_COMMITS}/{{sha}}/comments": ("", {"note": "string"}),
    f"POST {_COMMITS}": ("CreateCommitOptions", {"branch": "string", "commit_message": "string"}),
    "POST /projects/{id}/merge_requests": (
        "EditMergeRequestOptions",
        {"source_branch": "string", "target_branch": "string", "title": "string"},
    ),
}
"""What is sent: the type of what may be in it, and what the client's method takes besides, which has to be."""

UNKNOWN = {"POST /projects/{id}/merge_requests": {"discussion_locked", "squash_on_merge", "state_event"}}
"""Fields the client's types share with another call, and GitLab's document does not have for this one."""

NEEDED = {f"POST {_COMMITS}": {"actions"}}
"""Fields the client's types leave open, and GitLab's document asks for."""

_FIELD = re.compile(r"^    (\w+)(\??): (.+);$", re.MULTILINE)
_PLAIN = {"string": "string", "number": "number", "boolean": "boolean", "null": "null"}


def kept() -> dict[str, dict[str, Any]]:
    """`answers`: `METHOD path STATUS` -> JSON schema; `bodies`: `METHOD path` -> that of what is sent."""
    told: dict[str, Any] = json.loads(KEPT.read_text())
    return {name: told[name] for name in ("answers", "bodies")}


def _cut(text: str) -> dict[str, Any]:
    answers = {}
    for call, (name, is_list) in ANSWERS.items():
        schema = _object(text, name)
        answers[call] = {"type": "array", "items": schema} if is_list else schema
    bodies = {}
    for call, (name, needed) in BODIES.items():
        schema = _object(text, name) if name else {"properties": {}}
        fields = {_snake(field): one for field, one in schema["properties"].items()}
        fields |= {field: _schema(text, told) for field, told in needed.items()}
        if "actions" in fields:
            action = _object(text, "CommitAction")
            items = {**action, "properties": {_snake(f): one for f, one in action["properties"].items()}}
            items["required"] = [_snake(field) for field in action["required"]]
            fields["actions"] = {"type": "array", "items": {**items, "additionalProperties": False}}
        bodies[call] = {
            "type": "object",
            "properties": {field: one for field, one in fields.items() if field not in UNKNOWN.get(call, ())},
            "required": sorted({*needed, *NEEDED.get(call, ())}),
            "additionalProperties": False,
        }
    return {"from": "npm @gitbeaker/core 43.8.0, MIT", "answers": answers, "bodies": bodies}


def _object(text: str, name: str) -> dict[str, Any]:
    """An interface, with what it extends, or an object type."""
    head = rf"^(?:interface {name} extends (\w+)|(?:interface|type) {name})[^{{\n]*\{{\n"
    found = re.search(rf"{head}(.*?)^\}}", text, re.M | re.S)
    if found is None:
        raise ValueError(f"the types have no {name}")
    base: dict[str, Any] = {"properties": {}, "required": []}
    if found[1] and found[1] != "Record":
        base = _object(text, found[1])
    properties, required = dict(base["properties"]), list(base["required"])
    for field, optional, told in _FIELD.findall(found[2]):
        properties[field] = _schema(text, told)
        required += [field] if not optional and field not in required else []
    return {"type": "object", "properties": properties, "required": required}


def _schema(text: str, told: str) -> dict[str, Any]:
    """Named types are objects here: their insides are nothing we read."""
    told = re.sub(r"<.*>", "", told)
    alias = re.search(rf"^type {re.escape(told)} = ('.*);$", text, re.M)
    parts = [part.strip() for part in (alias[1] if alias else told).split(" | ")]
    words = [part.strip("'") for part in parts if part.startswith("'")]
    if words:
        return {"enum": words}
    kinds = (_PLAIN.get(part, "array" if part.endswith("[]") else "object") for part in parts)
    return {"type": list(dict.fromkeys(kinds))}


def _snake(name: str) -> str:
    """As the client sends it."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


if __name__ == "__main__":
    cut = _cut(Path(sys.argv[1]).read_text()) | {"published": json.loads(KEPT.read_text())["published"]}
    KEPT.write_text(json.dumps(cut, separators=(",", ":"), sort_keys=True) + "\n")
