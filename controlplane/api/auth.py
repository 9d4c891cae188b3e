"""Who is asking: a person with the installation's token, or the agent of one VM with the credential it made."""

import hashlib
import hmac
import re
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Header, Request
from pydantic import SecretBytes

from agent.host_port import HostPort, bracketed
from agent.wire import CERTIFICATE_NEEDED, CERTIFICATE_OVER
from controlplane.api.access.rights import Rights
from controlplane.api.access.tokens import INSTALLATION
from controlplane.api.agent_instances import is_revoked
from controlplane.api.peers import certificate_of
from controlplane.api.problems import ApiError
from controlplane.api.services import Services
from controlplane.storage.agent_credentials import Credential, Vm
from controlplane.storage.certificates.agents import AgentCertificate
from events.ids import ClusterUid, IntentId, NodeName

HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""Whether the process is well, and whether calls are to be sent to it."""

OPEN_PATHS = HEALTH_PATHS | {"/agent/v1/enrol", "/agent/v1/ca"}
"""Paths that ask for no identity: two say next to nothing, one checks a token of its own, one shows a public
certificate."""

AGENT_PATHS = "/agent/"
"""Prefix of what agents call; everything else but `RUN_PATHS` is for people."""

API_PATHS = ("/v1/", "/openapi.json")
"""Prefixes of what programs of people call, with a token; a browser's session opens nothing there."""

STATIC_PATHS = "/static/"
OPEN_PAGES = frozenset({"/login", "/oidc/begin", "/oidc/callback", "/oidc/out", "/oidc/backchannel"})
"""Pages for people nobody knows yet, and what such a page is drawn with."""

RUN_PATHS = "/terraform/"
"""Prefix of what Terraform calls, with the credentials of its run: those routes check them."""

HOOK_PATHS = "/hooks/git/"
"""Prefix of what forges call when somebody pushed: signed with a secret of the binding, which the route checks."""

INSTANCE_HEADER = "X-Kedge-Instance"

_INSTANCE = re.compile(r"([0-9a-f]{8,64})/([a-z0-9][a-z0-9-]{0,200})\.g([1-9][0-9]{0,8})", re.ASCII)
_ACTOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", re.ASCII)


def cookie_name(installation_id: str) -> str:
    """Browsers share cookies among all ports of a host: two servers on loopback must not take each other's."""
    return f"kedge_session_{installation_id[:8]}"


def same_secret(shown: str, right: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(shown.encode(), right.encode())


def loopback_hosts(host: str, port: int) -> frozenset[str]:
    """The `Host` values of a server that listens there: a page of another site cannot make a browser send them."""
    names = {host, "127.0.0.1", "localhost", "::1"}
    return frozenset(str(HostPort(name, port)) for name in names)


def public_hosts(names: tuple[str, ...], port: int) -> frozenset[str]:
    """The `Host` values of a server that people reach over TLS: its names, also with the port it listens on."""
    whole = {str(HostPort.parse(name, port)) for name in names}
    return frozenset(whole | {bracketed(name) for name in names})


def is_foreign_origin(origin: str, hosts: frozenset[str], scheme: str = "http") -> bool:
    """Whether a browser says that a page of somebody else sent the request."""
    parts = urlsplit(origin)
    return parts.scheme != scheme or parts.netloc not in hosts


def enrolment_token(server_key: SecretBytes, intent_id: IntentId) -> str:
    """The one-time token of a VM: derived, so that boot data renders the same each time and no event holds a secret."""
    return hmac.new(server_key.get_secret_value(), intent_id.encode(), hashlib.sha256).hexdigest()


def agent_at_renewal(
    request: Request,
    services: Services,
    authorization: Annotated[str, Header()] = "",
    x_kedge_instance: Annotated[str, Header()] = "",
) -> Credential:
    """What the asking agent has shown, with its certificate once it has shown one. That may be over: a VM that was off
    for long renews it by itself. It still proves that its key is there, and the credential beside it has to count.

    401 unless the credential is the one in force, or the next, of the instance it names; 403 for the certificate of
    another one.
    """
    vm = parse_instance(x_kedge_instance)
    shown = bearer_of(authorization)
    if vm is None or not shown:
        raise _unknown_agent()
    if is_revoked(services.fleet.clusters.view(vm.cluster_uid), f"{vm.node}.g{vm.generation}"):
        raise _unknown_agent()  # before anything of what it shows could come into force
    certificate = certificate_of(request.scope)
    refuse_other_certificate(certificate, vm)
    digest = hashlib.sha256(shown.encode()).hexdigest()
    known = services.access.credentials.recognise(vm, digest, is_certified=certificate is not None)
    if known is None:
        raise _unknown_agent()
    if certificate is None and known.certified_at is not None:
        title = "this agent is heard with its certificate only"
        raise ApiError(401, CERTIFICATE_NEEDED, title, next_step="Show it. If its key is lost, replace the node.")
    return known


async def agent_credential(
    request: Request, services: Services, shown: Annotated[Credential, Depends(agent_at_renewal)]
) -> Credential:
    """The same, of an agent whose certificate is not over, and of one that has none. No thread is needed for it."""
    certificate = certificate_of(request.scope)
    if certificate is not None and certificate.is_over(services.clock()):
        title, then = "the certificate is over", "Renew it: POST /agent/v1/certificate takes it still."
        raise ApiError(401, CERTIFICATE_OVER, title, next_step=then)
    return shown


def refuse_other_certificate(certificate: AgentCertificate | None, vm: Vm) -> None:
    """Raises ApiError (403) for a certificate of anybody but this VM."""
    if certificate is not None and parse_instance(certificate.instance) != vm:
        raise ApiError(403, "not-yours", "the certificate is of another instance than the one that is named")


AgentAtRenewal = Annotated[Credential, Depends(agent_at_renewal)]
ShownCredential = Annotated[Credential, Depends(agent_credential)]


async def agent_vm(shown: ShownCredential) -> Vm:
    """The VM whose agent is asking. No coroutine for its own sake: a thread for this would be one too many."""
    return shown.vm


def parse_instance(text: str) -> Vm | None:
    """`<cluster uid>/<node>.g<generation>` as a VM, None for anything else."""
    found = _INSTANCE.fullmatch(text)
    return Vm(ClusterUid(found[1]), NodeName(found[2]), int(found[3])) if found else None


def actor(request: Request, x_kedge_actor: Annotated[str, Header()] = "") -> str:
    """Who the history names: whose token it is.

    All people of this machine share the installation's, so there the header is a courtesy, no proof.
    """
    rights: Rights = request.state.rights
    if rights.subject != INSTALLATION:
        return actor_of(rights)
    return f"person:{x_kedge_actor if _ACTOR.fullmatch(x_kedge_actor) else 'local'}"


def actor_of(rights: Rights) -> str:
    """The caller as events name them."""
    return f"person:{rights.subject.removeprefix('user:')}"


Agent = Annotated[Vm, Depends(agent_vm)]
Actor = Annotated[str, Depends(actor)]


def bearer_of(authorization: str) -> str:
    """What an `Authorization` header shows, "" where it shows none."""
    scheme, _, value = authorization.partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _unknown_agent() -> ApiError:
    # One answer for an unknown instance and a wrong credential: nobody learns which instances exist.
    title = "this agent is not known"
    return ApiError(401, "agent-unknown", title, next_step="Enrol; if that is refused, replace the node.")
