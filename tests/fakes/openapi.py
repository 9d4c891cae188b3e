"""Parts of an OpenAPI 3.0 document as JSON Schema: references filled in, words for people left out."""

from typing import Any
from urllib.parse import unquote

_WORDS = ("description", "example", "examples", "title", "x-", "default", "deprecated", "readOnly")


def meant(document: dict[str, Any], part: Any) -> Any:
    """What a reference stands for, references of references too."""
    while isinstance(part, dict) and "$ref" in part:
        target: Any = document
        for name in part["$ref"].split("/")[1:]:
            name = unquote(name).replace("~1", "/").replace("~0", "~")
            target = target[int(name)] if isinstance(target, list) else target[name]
        part = target
    return part


def plain(document: dict[str, Any], schema: Any) -> Any:
    """JSON Schema of OpenAPI 3.0's, references filled in: `nullable` is a type beside the others."""
    schema = meant(document, schema)
    if isinstance(schema, list):
        return [plain(document, s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        k: {n: plain(document, s) for n, s in v.items()} if k == "properties" else plain(document, v)
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
