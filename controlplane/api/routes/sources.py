"""/v1/sources: git repositories that declare clusters; and the hand-over of a cluster from one source to another."""

from fastapi import APIRouter

from controlplane.api.auth import Actor
from controlplane.api.given_commands import spread
from controlplane.api.paging import MOST_ON_A_PAGE, After, Most, PartOf, Turning, by_name
from controlplane.api.presenters import commands as command_answers
from controlplane.api.presenters.sources import source_out
from controlplane.api.request_identity import Heading, Keyed
from controlplane.api.schemas import (
    commands as command_api,
    messages as message_api,
    sources as source_api,
)
from controlplane.api.services import PortalServices, Services
from controlplane.background.git_sync.service import SourceNotFound, SourceService
from controlplane.cluster.commands import TakeOverSource
from controlplane.cluster.spec_source import binding_of, git_source
from controlplane.cluster.views.source import API

router = APIRouter(prefix=message_api.API_PREFIX, tags=["sources"])


@router.get("/sources")
def list_sources(
    services: Services, turn: Turning, q: PartOf = "", after: After = "", limit: Most = MOST_ON_A_PAGE
) -> list[source_api.SourceOut]:
    """All git sources, by name."""
    if services.fleet.sources is None:
        return []
    service = services.fleet.sources
    every = [s for s in service.statuses(leads=services.operations.leadership.may_act) if q in s.binding.name]
    left = by_name(every, lambda status: status.binding.name, after=after)
    page = turn.page(left, lambda status: status.binding.name, limit)
    return [source_out(s, services.fleet.forges.get(s.binding.name)) for s in page]


@router.post("/sources/{name}/poll", dependencies=[Keyed])
def poll(name: str, services: Services) -> source_api.SourcePolledOut:
    """Look at the repository soon. This is what a webhook calls: it wakes the poll and says nothing else."""
    service = _service(services, name)
    service.status(name)
    asked = (services.operations.leadership.may_act or service.reaches_leader) and service.ring(name)
    sentence = "it is polled now" if asked else "another server leads: it polls at its next interval"
    return source_api.SourcePolledOut(source=git_source(name), asked=asked, sentence=sentence)


@router.post("/sources/{name}/accept", dependencies=[Keyed])
def accept(name: str, body: source_api.AcceptIn, services: Services, actor: Actor) -> source_api.SourcePolledOut:
    """A person says that a rewritten history is meant."""
    sentence = _service(services, name).accept(name, body.commit, reason=body.reason, actor=actor)
    return source_api.SourcePolledOut(source=git_source(name), asked=True, sentence=sentence)


@router.post("/clusters/{name}/source")
def take_over(body: source_api.SourceIn, services: Services, head: Heading) -> command_api.CommandOut:
    """From here on the spec comes from `source`; the one in force stays until that source declares another."""
    command = TakeOverSource(**head, source=body.source, reason=body.reason)
    return handed_over(services, command)


def handed_over(services: PortalServices, command: TakeOverSource) -> command_api.CommandOut:
    """The command, and a look at the repository that has the say now. Raises SourceNotFound, CommandRefused."""
    if command.source != API:
        _service(services, command.source).refuse_unknown(command.source)
    outcome = services.cluster.commands.handle(command)
    spread(services, [outcome])
    if services.fleet.sources is not None and outcome.changed and command.source != API:
        services.fleet.sources.ring(binding_of(command.source))
    return command_answers.command_out(outcome)


def _service(services: PortalServices, name: str) -> SourceService:
    if services.fleet.sources is None:
        raise SourceNotFound(name)
    return services.fleet.sources
