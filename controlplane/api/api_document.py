"""The API in its own words: FastAPI's document, and what only we know of it: who may ask, and how it refuses.

FastAPI writes down what a route takes and gives. Every refusal here is one shape, `application/problem+json`, whoever
raises it; so the statuses are told in one place, by what an operation takes. A route names only what is its own.
"""

from copy import deepcopy
from typing import Any

from fastapi import FastAPI

from controlplane.api.auth import AGENT_PATHS, HOOK_PATHS, INSTANCE_HEADER, OPEN_PATHS
from controlplane.api.hooks import SIGNATURE_HEADER, TOKEN_HEADER
from controlplane.api.schemas.messages import ErrorOut

PROBLEM = "application/problem+json"

_PERSON, _AGENT, _INSTANCE = "token", "agentCredential", "agentInstance"
_SIGNED, _SHOWN = "hookSignature", "hookToken"
_SCHEMES: dict[str, Any] = {
    _PERSON: {
        "type": "http",
        "scheme": "bearer",
        "description": "a token of a person, or on its machine the text of the file `token` in the server's home",
    },
    _AGENT: {"type": "http", "scheme": "bearer", "description": "the credential that the agent of a VM made"},
    _INSTANCE: {
        "type": "apiKey",
        "in": "header",
        "name": INSTANCE_HEADER,
        "description": "`<cluster uid>/<node>.g<generation>`: whose credential it is",
    },
    _SIGNED: {
        "type": "apiKey",
        "in": "header",
        "name": SIGNATURE_HEADER,
        "description": "GitHub's: `sha256=` and the HMAC of the raw body, keyed by the secret of the binding",
    },
    _SHOWN: {
        "type": "apiKey",
        "in": "header",
        "name": TOKEN_HEADER,
        "description": "GitLab's: the secret of the binding",
    },
}

_ALWAYS = {
    403: "not allowed to the caller",
    421: "asked by a host name that is not this server's",
    503: "something it needs does not answer; `Retry-After` says when to ask again, where that is known",
}
_KNOWN_ONLY = {
    401: "nobody this server knows, or not any more",
    429: "too many wrong tokens, or signatures, from this address, or too many calls with this token",
}
_WITH_PATH = {404: "there is no such thing, or the caller may not see it"}
_WITH_INPUT = {422: "the request is not what this call takes, or what it asks for is invalid"}
_WITH_BODY = {400: "the body cannot be read", 413: "the request is too large"}
_WRITES = {409: "refused as things are now; `next` says what can be done"}
_PROOFS = {name.lower() for name in ("Authorization", INSTANCE_HEADER, SIGNATURE_HEADER, TOKEN_HEADER)}
_TAKES_NOTHING = {"validate", "plan"}
"""Of the writes by method, those that write nothing."""


def api_document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of every route that is no page, with its refusals and what a caller has to show."""
    document: dict[str, Any] = deepcopy(app.openapi())
    schemas = document["components"]["schemas"]
    schemas["ErrorOut"] = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own shape: never sent
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = _SCHEMES
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    operation["security"] = _security(path)
    parameters = [p for p in operation.get("parameters", []) if not _is_proof(p)]
    operation["parameters"] = parameters
    operation["responses"].pop("422", None)
    refusals = dict(_ALWAYS)
    if path not in OPEN_PATHS:
        refusals |= _KNOWN_ONLY
    is_hook = path.startswith(HOOK_PATHS)
    if "{" in path and not is_hook:
        refusals |= _WITH_PATH
    if parameters or "requestBody" in operation:
        refusals |= _WITH_INPUT
    if "requestBody" in operation:
        refusals |= _WITH_BODY
    if method != "get" and not is_hook and path.rsplit("/", 1)[-1] not in _TAKES_NOTHING:
        refusals |= _WRITES
    responses = operation["responses"]
    for status, why in refusals.items():
        responses.setdefault(str(status), {"description": why})
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
    operation["responses"] = dict(sorted(responses.items()))


def _security(path: str) -> list[dict[str, list[str]]]:
    if path in OPEN_PATHS:
        return []
    if path.startswith(HOOK_PATHS):
        return [{_SIGNED: []}, {_SHOWN: []}]
    return [{_AGENT: [], _INSTANCE: []}] if path.startswith(AGENT_PATHS) else [{_PERSON: []}]


def _is_proof(parameter: dict[str, Any]) -> bool:
    """Headers that `security` tells of."""
    return parameter["in"] == "header" and parameter["name"].lower() in _PROOFS
