"""Two forges in one process, on real HTTP: what GitHub and GitLab answer to what Kedge asks, kept in plain dicts.

Held to the documents by the suites of tests/contract/test_forges.py and test_gitlab_document.py.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema_rs

from tests.fakes.clouds.digitalocean_http import Answer, serving

TOKEN = "bot-token-canary"
PROJECT = "platform/specs"
AT = "2026-01-01T12:00:00Z"


@dataclass(frozen=True)
class Reply:
    """A status, JSON, and headers."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Commit:
    """A commit with whole files; `parent` is "" for the first."""

    id: str
    files: dict[str, str]
    parent: str = ""
    message: str = ""
    author: tuple[str, str] = ("Ada", "ada@example.org")


@dataclass
class ForgeWorld:
    """One repository of a forge: branches, statuses, comments, requests. `next_replies` are given first, whatever is
    asked; `asked` is every call."""

    token: str = TOKEN
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    comments: list[tuple[str, str]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    next_replies: list[Reply] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    url: str = ""

    def commit(self, files: Mapping[str, str], *, branch: str = "main") -> str:
        """Adds files to a branch; returns the commit's id."""
        parent = self.branches.get(branch, "")
        kept = self.commits[parent].files if parent else {}
        made = self.add({**kept, **files}, parent, "change", ("Ada", "ada@example.org"))
        self.branches[branch] = made.id
        return made.id

    def add(self, files: dict[str, str], parent: str, message: str, author: tuple[str, str]) -> Commit:
        """A commit on no branch yet."""
        commit = Commit(sha(f"{len(self.commits)}{message}{parent}"), files, parent, message, author)
        self.commits[commit.id] = commit
        return commit

    def files_of(self, ref: str) -> dict[str, str] | None:
        """The files of a branch or commit."""
        commit = self.commits.get(self.branches.get(ref, ref))
        return None if commit is None else commit.files

    def posts(self) -> list[str]:
        """Paths of what was written."""
        return [path for method, path, _ in self.asked if method == "POST"]


class ForgeFake:
    """A forge; subclasses know its API. `answer` is one call without HTTP."""

    api, stranger = "", ""
    document: Mapping[str, Mapping[str, Any]] = {}

    def __init__(self) -> None:
        self.world = ForgeWorld()

    def answer(self, method: str, address: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Status, headers, JSON. See ForgeWorld for what comes of it."""
        reply = self._reply(method, address, headers, body)
        return reply.status, dict(reply.headers), reply.data

    def _reply(self, method: str, address: str, headers: Mapping[str, str], body: bytes) -> Reply:
        url = urlsplit(address)
        given = json.loads(body) if body else None
        self.world.asked.append((method, url.path, given))
        if self.world.next_replies:
            return self.world.next_replies.pop(0)
        if headers.get("Authorization") != f"Bearer {self.world.token}":
            return Reply(401, {"message": self.stranger})
        steps = [unquote(step) for step in url.path.removeprefix(self.api).strip("/").split("/")]
        query = dict(parse_qsl(url.query))
        return self.routed(method, steps, query, given or {})

    def routed(self, method: str, steps: list[str], query: Mapping[str, str], given: dict[str, Any]) -> Reply:
        """One call of somebody who may."""
        raise NotImplementedError

    def told(self, call: str, code: int, /, **said: Any) -> dict[str, Any]:
        """One thing as the document has it, with what is `said` of it. AssertionError where that does not fit."""
        schema = self.document["answers"][f"{call} {code}"]
        schema = schema.get("items", schema)
        schema = next((one for one in schema.get("oneOf", ()) if set(said) <= set(one.get("properties", ()))), schema)
        made: dict[str, Any] = lean(schema)
        for name, value in said.items():
            made[name] = {**made[name], **value} if isinstance(value, dict) else value
        errors = [f"{e.instance_path}: {e.message}" for e in jsonschema_rs.validator_for(schema).iter_errors(made)]
        assert not errors, (call, errors)
        return made

    def wrong(self, call: str, given: dict[str, Any]) -> list[str]:
        """What of a body is not as the document says."""
        validator = jsonschema_rs.validator_for(self.document["bodies"][call])
        return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(given)]


def sha(text: str) -> str:
    """An id as git has them."""
    return sha1(text.encode()).hexdigest()


def encoded(text: str) -> str:
    """As both give contents; GitHub breaks the lines."""
    return base64.encodebytes(text.encode()).decode()


def lean(schema: Any) -> Any:
    """The least that a schema lets pass: of an object what it must have."""
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return lean(schema[choice][0])
    if "allOf" in schema:
        parts = [lean(one) for one in schema["allOf"]]
        return {name: value for part in parts for name, value in part.items()}
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    kind = "null" if "null" in kinds and isinstance(kinds, list) else kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: lean(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "string":
        return AT if schema.get("format") == "date-time" else "https://forge.example.org/x"
    return {"null": None, "array": [], "boolean": False, "integer": 1, "number": 1}[kind]


@contextmanager
def served(fake: ForgeFake) -> Iterator[ForgeWorld]:
    """The forge on a loopback port; `url` of its world is what its API begins with."""
    with serving(fake.answer) as port:
        fake.world.url = f"http://127.0.0.1:{port}{fake.api}"
        yield fake.world
