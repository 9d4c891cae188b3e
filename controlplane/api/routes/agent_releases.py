"""/v1/agents: the agents VMs are to run, publishing and withdrawing, and how far each VM is."""

from fastapi import APIRouter

from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, After, Most, PartOf, Turning, by_name
from controlplane.api.presenters.agents import agents_out
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import agents as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from controlplane.background.agent_upgrades.service import Offered

router = APIRouter(prefix=API_PREFIX, tags=["agents"])


@router.get("/agents")
def list_agents(
    services: Services, turn: Turning, q: PartOf = "", after: After = "", limit: Most = MOST_ON_A_PAGE
) -> api.AgentsOut:
    """Every version, and every VM with the agent it runs, cluster by cluster. Pages are of clusters."""
    out = agents_out(services.fleet.agents.status())
    clusters = by_name((c for c in out.clusters if q in c.name), lambda c: c.name, after=after)
    return out.model_copy(update={"clusters": turn.page(clusters, lambda c: c.name, limit)})


@router.post("/agents")
def publish_agent(body: api.AgentReleaseIn, services: Services, actor: Actor, key: CommandId) -> api.AgentSaidOut:
    """Every VM is to run this version from here on: one first, then cluster by cluster."""
    builds = [Offered(b.platform, str(b.url), b.sha256, b.size_bytes) for b in body.builds]
    said = services.fleet.agents.publish(body.version, builds, notes=body.notes, actor=actor, command_id=key)
    return api.AgentSaidOut(sentence=said)


@router.post("/agents/resume")
def resume_agents(body: api.AgentReasonIn, services: Services, actor: Actor, key: CommandId) -> api.AgentSaidOut:
    """VMs whose upgrade failed are asked again, and the others after them."""
    return api.AgentSaidOut(sentence=services.fleet.agents.resume(reason=body.reason, actor=actor, command_id=key))


@router.post("/agents/{version}/withdraw")
def withdraw_agent(
    version: str, body: api.AgentReasonIn, services: Services, actor: Actor, key: CommandId
) -> api.AgentSaidOut:
    """No VM is to run it any more: the version published before it counts."""
    said = services.fleet.agents.withdraw(version, reason=body.reason, actor=actor, command_id=key)
    return api.AgentSaidOut(sentence=said)
