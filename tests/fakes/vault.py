"""HashiCorp Vault's KV engine, version 2, as far as Kedge asks it: held to its HTTP API (api-docs/secret/kv/kv-v2 and
api-docs/index). Quirks: 404 with the metadata for a version that was deleted, with empty `errors` for a secret that
never was, and with words for a path that no engine serves; an engine of version 1 answers 204."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.clouds.digitalocean_http import Answer, serving

TOKEN = "hvs.canary-0123456789abcdef"  # a fake's
_AT = "2026-01-01T12:00:00.000000000Z"


@dataclass
class FakeVault:
    """`versions`: what was written, by path, the first version first; None one that was deleted."""

    token: str = TOKEN
    namespace: str = ""
    mount: str = "secret"
    policy: frozenset[str] = frozenset({"create", "update", "read"})
    cas_required: bool = False
    is_sealed: bool = False
    is_version_1: bool = False
    versions: dict[str, list[dict[str, Any] | None]] = field(default_factory=dict)
    next_replies: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    between: Any = None
    """Called before a write is looked at."""

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """One request."""
        self.asked.append((method, path))
        given = {name.lower(): value for name, value in headers.items()}
        if self.next_replies:
            return self.next_replies.pop(0)
        if self.is_sealed:
            return _errors(503, "Vault is sealed")
        if given.get("x-vault-request") != "true":
            return _errors(400, "required header X-Vault-Request is missing")
        if given.get("x-vault-token") != self.token or given.get("x-vault-namespace", "") != self.namespace:
            return _errors(403, "permission denied")
        engine = f"/v1/{self.mount}/"
        if not path.startswith(engine):
            return _errors(404, f'no handler for route "{path.removeprefix("/v1/")}". route entry not found.')
        below = path.removeprefix(engine)
        if self.is_version_1:
            return (204, {}, None) if method in ("POST", "PUT") else _errors(404)
        if not below.startswith("data/"):
            return _errors(404)
        there = self.versions.setdefault(below.removeprefix("data/"), [])
        return self._read(there) if method == "GET" else self._write(there, json.loads(body))

    def _read(self, there: list[dict[str, Any] | None]) -> Answer:
        if "read" not in self.policy:
            return _errors(403, "1 error occurred:\n\t* permission denied\n\n")
        if not there:
            return _errors(404)
        data = {"data": there[-1], "metadata": _metadata(len(there), is_deleted=there[-1] is None)}
        return 404 if there[-1] is None else 200, {}, {"data": data}

    def _write(self, there: list[dict[str, Any] | None], given: dict[str, Any]) -> Answer:
        if self.between is not None:
            self.between()
        if ("update" if there else "create") not in self.policy:
            return _errors(403, "1 error occurred:\n\t* permission denied\n\n")
        assert set(given) <= {"options", "data"}, given
        cas = given.get("options", {}).get("cas")
        if cas is None and self.cas_required:
            return _errors(400, "check-and-set parameter required for this call")
        if cas is not None and cas != len(there):
            return _errors(400, "check-and-set parameter did not match the current version")
        there.append(given["data"])
        return 200, {}, {"data": _metadata(len(there))}


def _metadata(version: int, *, is_deleted: bool = False) -> dict[str, Any]:
    ended = _AT if is_deleted else ""
    return {
        "created_time": _AT,
        "custom_metadata": None,
        "deletion_time": ended,
        "destroyed": False,
        "version": version,
    }


def _errors(status: int, *words: str) -> Answer:
    return status, {}, {"errors": list(words)}


@contextmanager
def a_vault() -> Iterator[FakeVault]:
    """One on a loopback port."""
    fake = FakeVault()
    with serving(fake.answer) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake
