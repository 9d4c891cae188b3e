"""What makes two requests the same one: who asks, their `Idempotency-Key`, and all that the request says.

The id of a command is derived from all three and begins with a word of its own. So no caller can choose an id of the
server's (`proposal-...`, those of git) or of somebody else, and another request is another command, whatever its key.
"""

import hashlib
import json
import uuid
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, Header
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.auth import Actor, actor_of
from controlplane.api.problems import ApiError
from controlplane.cluster.commands import CommandHead

KEY_HEADER = "Idempotency-Key"
MOST_KEY = 200
"""Characters of a key."""
ASKED = "asked-"
"""What ids of commands begin with that a caller's key is behind."""


def asked_id(rights: Rights, key: str) -> str:
    """The id of the command behind that key in this request; "" for no key."""
    return f"{ASKED}{_sha256(rights.subject, key, rights.trail.digest)[:40]}" if key else ""


def key_row(rights: Rights, key: str) -> str:
    """Under what a caller's key is remembered: nobody's key is that of somebody else."""
    return _sha256(rights.subject, key)


def request_digest(scope: Scope, body: bytes) -> str:
    """The same for requests that say the same. How a JSON body is spaced and ordered says nothing."""
    headers = Headers(scope=scope)
    said = body.hex()
    if headers.get("content-type", "").startswith("application/json"):
        with suppress(ValueError, RecursionError):  # no JSON: the route says so, and its bytes are what it is
            said = json.dumps(json.loads(body), sort_keys=True)
    actor, query = headers.get("x-kedge-actor", ""), scope.get("query_string", b"").decode("latin-1")
    return _sha256(scope["method"], scope["path"], query, actor, said)


async def whole_body(receive: Receive) -> tuple[bytes, Receive]:
    """The body, and what gives the same messages to whoever is next. Raises what `receive` raises."""
    kept: list[Message] = []
    while True:
        message = await receive()
        kept.append(message)
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    body = b"".join(m.get("body", b"") for m in kept if m["type"] == "http.request")
    kept.reverse()

    async def again() -> Message:
        return kept.pop() if kept else await receive()

    return body, again


def came_before(request: Request) -> bool:
    """Whether this very request came with its key before, however it ended."""
    return bool(getattr(request.state, "came_before", False))


def refuse_repeated(request: Request) -> None:
    """For what cannot be told twice: a secret is in the first answer alone. Raises ApiError (409)."""
    if came_before(request):
        title, why = "this very request came before", "A secret is told once, in the answer to the first one."
        then = "If that answer was lost: take back what it made, or make it anew, with another Idempotency-Key."
        raise ApiError(409, "done-before", title, detail=why, next_step=then)


def command_id(rights: Caller, idempotency_key: Annotated[str, Header(max_length=MOST_KEY)] = "") -> str:
    """The id of a command: it follows from the caller's key, so that a retry is recognised, else a fresh one."""
    return asked_id(rights, idempotency_key) or uuid.uuid4().hex


CommandId = Annotated[str, Depends(command_id)]


async def command_head(name: str, actor: Actor, key: CommandId) -> CommandHead:
    """Of a command to the cluster that the path names."""
    return CommandHead(name=name, actor=actor, command_id=key)


def heading_of(rights: Rights, name: str, key: str) -> CommandHead:
    """Of a command that a page's form asks for, which holds the key."""
    return CommandHead(name=name, actor=actor_of(rights), command_id=asked_id(rights, key))


Heading = Annotated[CommandHead, Depends(command_head)]
Keyed = Depends(command_id)
"""For a write that is no command: it takes a key like any other."""
Once = Depends(refuse_repeated)
"""For a write whose answer holds a secret."""


def _sha256(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
