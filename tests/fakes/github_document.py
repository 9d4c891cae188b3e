"""What GitHub's OpenAPI document says of the calls we make; `github_openapi.json` holds those parts.

From npm `@octokit/openapi` 23.0.2 (MIT, (c) 2020 Octokit contributors),
`package/generated/api.github.com.json`. By hand, with that file unpacked:

    python -m tests.fakes.github_document FILE
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.openapi import meant, plain

KEPT = Path(__file__).with_name("github_openapi.json")

_REPO = "/repos/{owner}/{repo}"

ANSWERS = (
    ("get", f"{_REPO}/commits/{{ref}}/statuses", "200"),
    ("post", f"{_REPO}/statuses/{{sha}}", "201"),
    ("get", f"{_REPO}/commits/{{commit_sha}}/comments", "200"),
    ("post", f"{_REPO}/commits/{{commit_sha}}/comments", "201"),
    ("get", f"{_REPO}/contents/{{path}}", "200"),
    ("get", f"{_REPO}/contents/{{path}}", "404"),
    ("get", f"{_REPO}/git/ref/{{ref}}", "200"),
    ("get", f"{_REPO}/git/ref/{{ref}}", "404"),
    ("get", f"{_REPO}/git/commits/{{commit_sha}}", "200"),
    ("post", f"{_REPO}/git/trees", "201"),
    ("post", f"{_REPO}/git/commits", "201"),
    ("post", f"{_REPO}/git/refs", "201"),
    ("post", f"{_REPO}/git/refs", "422"),
    ("get", f"{_REPO}/pulls", "200"),
    ("post", f"{_REPO}/pulls", "201"),
    ("post", f"{_REPO}/pulls", "422"),
)
"""Answers that the adapter reads, and that our fake gives."""


def kept() -> dict[str, dict[str, Any]]:
    """`answers`: `METHOD path STATUS` -> JSON schema; `bodies`: `METHOD path` -> that of what is sent."""
    told: dict[str, Any] = json.loads(KEPT.read_text())
    return {name: told[name] for name in ("answers", "bodies")}


def _cut(document: dict[str, Any]) -> dict[str, Any]:
    answers, bodies = {}, {}
    for method, path, status in ANSWERS:
        call = document["paths"][path][method]
        answer = meant(document, call["responses"][status])
        schema = plain(document, answer["content"]["application/json"]["schema"])
        answers[f"{method.upper()} {path} {status}"] = _lean(schema)
        if "requestBody" in call:
            schema = call["requestBody"]["content"]["application/json"]["schema"]
            bodies[f"{method.upper()} {path}"] = {**plain(document, schema), "additionalProperties": False}
    return {"from": "npm @octokit/openapi 23.0.2, MIT", "answers": answers, "bodies": bodies}


def _lean(schema: Any) -> Any:
    """Without what an answer need not have: the fake gives none of it."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    lean = {name: _lean(value) for name, value in schema.items() if name != "properties"}
    needed = schema.get("required", ())
    if "properties" in schema:
        lean["properties"] = {n: _lean(v) for n, v in schema["properties"].items() if n in needed}
    return lean


if __name__ == "__main__":
    cut = _cut(json.loads(Path(sys.argv[1]).read_text()))
    KEPT.write_text(json.dumps(cut, separators=(",", ":"), sort_keys=True) + "\n")
