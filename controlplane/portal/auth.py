"""Who is asking: a person with the installation's token, or the agent of one VM with the credential it made."""

import hashlib
import hmac
import re
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Header

from controlplane.credentials import Credential, Vm
from controlplane.portal.problems import ApiError
from controlplane.portal.services import Services
from events.ids import ClusterUid, IntentId, NodeName

OPEN_PATHS = frozenset({"/healthz", "/agent/v1/enrol", "/agent/v1/ca"})
"""Paths that ask for no identity: one says nothing, one checks a token of its own, one shows a public certificate."""

AGENT_PATHS = "/agent/"
"""Prefix of what agents call; everything else but `RUN_PATHS` is for people."""

API_PATHS = ("/v1/", "/openapi.json")
"""Prefixes of what programs of people call, with a token; a browser's session opens nothing there."""

STATIC_PATHS = "/static/"
OPEN_PAGES = frozenset({"/login"})
"""Pages for people nobody knows yet, and what such a page is drawn with."""

RUN_PATHS = "/terraform/"
"""Prefix of what Terraform calls, with the credentials of its run: those routes check them."""

INSTANCE_HEADER = "X-Kedge-Instance"

_INSTANCE = re.compile(r"([0-9a-f]{8,64})/([a-z0-9][a-z0-9-]{0,200})\.g([1-9][0-9]{0,8})", re.ASCII)
_ACTOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", re.ASCII)


def cookie_name(installation_id: str) -> str:
    """Browsers share cookies among all ports of a host: two servers on loopback must not take each other's."""
    return f"kedge_session_{installation_id[:8]}"


def is_person(authorization: str, token: str) -> bool:
    """Whether an `Authorization` header carries the installation's token. Takes the same time whatever it says."""
    return same_secret(_bearer(authorization), token)


def same_secret(shown: str, right: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(shown.encode(), right.encode())


def loopback_hosts(host: str, port: int) -> frozenset[str]:
    """The `Host` values of a server that listens there: a page of another site cannot make a browser send them."""
    names = {host, "127.0.0.1", "localhost", "::1"}
    return frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)


def is_foreign_origin(origin: str, hosts: frozenset[str]) -> bool:
    """Whether a browser says that a page of somebody else sent the request."""
    parts = urlsplit(origin)
    return parts.scheme != "http" or parts.netloc not in hosts


def enrolment_token(server_key: bytes, intent_id: IntentId) -> str:
    """The one-time token of a VM: derived, so that boot data renders the same each time and no event holds a secret."""
    return hmac.new(server_key, intent_id.encode(), hashlib.sha256).hexdigest()


def agent_credential(
    services: Services,
    authorization: Annotated[str, Header()] = "",
    x_kedge_instance: Annotated[str, Header()] = "",
) -> Credential:
    """What the asking agent has shown. 401 unless it is the one in force, or the next, of the instance it names."""
    vm = parse_instance(x_kedge_instance)
    shown = _bearer(authorization)
    if vm is None or not shown:
        raise _unknown_agent()
    known = services.credentials.recognise(vm, hashlib.sha256(shown.encode()).hexdigest())
    if known is None:
        raise _unknown_agent()
    return known


ShownCredential = Annotated[Credential, Depends(agent_credential)]


async def agent_vm(shown: ShownCredential) -> Vm:
    """The VM whose agent is asking. No coroutine for its own sake: a thread for this would be one too many."""
    return shown.vm


def parse_instance(text: str) -> Vm | None:
    """`<cluster uid>/<node>.g<generation>` as a VM, None for anything else."""
    found = _INSTANCE.fullmatch(text)
    return Vm(ClusterUid(found[1]), NodeName(found[2]), int(found[3])) if found else None


def actor(x_kedge_actor: Annotated[str, Header()] = "") -> str:
    """Who the history names. All people share the token, so this is a courtesy, no proof."""
    return f"person:{x_kedge_actor if _ACTOR.fullmatch(x_kedge_actor) else 'local'}"


Agent = Annotated[Vm, Depends(agent_vm)]
Actor = Annotated[str, Depends(actor)]


def _bearer(authorization: str) -> str:
    scheme, _, value = authorization.partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _unknown_agent() -> ApiError:
    # One answer for an unknown instance and a wrong credential: nobody learns which instances exist.
    title = "this agent is not known"
    return ApiError(401, "agent-unknown", title, next_step="Enrol; if that is refused, replace the node.")
