"""/v1/clusters and the three verbs of a spec file."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from controlplane.api import approvals, event_log, paging, past, problems, specs
from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.cluster_lookup import known, living
from controlplane.api.feed import MAX_WAIT_S, RECHECK_EVERY_S, Feed
from controlplane.api.given_commands import carry_out, spread
from controlplane.api.history import History, page_of
from controlplane.api.presenters import (
    clusters as answers,
    commands as command_answers,
    instances as instance_answers,
    specs as spec_answers,
)
from controlplane.api.presenters.instances import agents_of_cluster
from controlplane.api.presenters.sources import source_of_cluster
from controlplane.api.request_identity import CommandId, Heading
from controlplane.api.schemas import (
    clusters as api,
    commands as command_api,
    instances as instance_api,
    messages as message_api,
    specs as spec_api,
)
from controlplane.api.services import PortalServices, Services
from controlplane.background.dns.records import DNS_NAME
from controlplane.cluster import commands
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.consoles import CONSOLE
from controlplane.storage.latest_values import Subject
from events.envelope import Recorded
from events.ids import ClusterUid

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])


@router.get("/clusters")
def list_clusters(
    services: Services,
    turn: paging.Turning,
    q: paging.PartOf = "",
    team: Annotated[str, Query(max_length=250, description="`metadata.owner`; empty: any")] = "",
    after: paging.After = "",
    limit: paging.Most = paging.MOST_ON_A_PAGE,
) -> list[api.ClusterOut]:
    """The living clusters, by name."""
    living_ones = (v for v in services.fleet.clusters.views() if not v.deleted and q in v.name)
    of_team = (v for v in living_ones if not team or (v.document is not None and v.document.metadata.owner == team))
    views = turn.page(paging.by_name(of_team, lambda view: view.name, after=after), lambda view: view.name, limit)
    now = services.clock()
    return [
        answers.cluster_out(
            v,
            services.fleet.clusters,
            now=now,
            progress=services.cluster.progress(v),
            source=source_of_cluster(services, v),
        )
        for v in views
    ]


@router.get("/clusters/{name}")
def get_cluster(name: str, services: Services, at: past.At = "") -> api.ClusterDetailOut:
    """One living cluster with all that is known of it.

    With `at`, a position of the log or a time, one as it was then: what is declared and decided, nothing observed.
    """
    if at:
        return past.past_detail(past.past_of(services, name, at), services.brokers.past_placements.hint)
    view = living(services, name)
    now = services.clock()
    agents = agents_of_cluster(services, view, now)
    progress, source = services.cluster.progress(view), source_of_cluster(services, view)
    consoles = services.cluster.latest.of_cluster(view.uid, CONSOLE)
    return answers.cluster_detail(
        view,
        services.fleet.clusters,
        agents=agents,
        now=now,
        progress=progress,
        source=source,
        consoles=consoles,
        window=services.cluster.window(view),
    )


@router.get("/clusters/{name}/console/{node}")
def get_console(name: str, node: str, services: Services) -> instance_api.ConsoleOut:
    """What the last VM of a node that never joined wrote to its console, secrets cut out."""
    view = living(services, name)
    kept = services.cluster.latest.get(Subject(CONSOLE, ClusterUid(view.uid), node))
    if kept is None:
        raise problems.ApiError(
            404, "no-console", f"no VM of node {node!r} of cluster {name!r} failed to join, as far as is known"
        )
    return instance_answers.console_out(kept)


@router.get("/clusters/{name}/endpoints")
def get_endpoints(name: str, services: Services) -> api.EndpointsOut:
    """How clients find the cluster."""
    view = living(services, name)
    return answers.endpoints_out(view, services.cluster.latest.of_cluster(view.uid, DNS_NAME))


@router.get("/clusters/{name}/events")
async def get_events(
    name: str,
    request: Request,
    services: Services,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    tail: Annotated[int, Query(ge=0, le=1000)] = 0,
    wait_s: Annotated[float, Query(ge=0, le=MAX_WAIT_S)] = 0.0,
) -> api.EventsOut:
    """Recorded events after a global position, oldest first; with `tail` the newest ones instead.

    With `wait_s` the answer is held until there is one. A deleted cluster's history stays readable while its name is
    not used again.
    """
    feed: Feed = request.app.state.feed
    history: History = request.app.state.history
    view = await run_in_threadpool(known, services, name)
    deadline = time.monotonic() + wait_s
    while True:
        page = await run_in_threadpool(page_of, services.store, history, view.uid, after=after, limit=limit, tail=tail)
        left_s = deadline - time.monotonic()
        if page.events or left_s <= 0 or feed.is_closing:
            events = await run_in_threadpool(_event_outs, services, page.events)
            return api.EventsOut(events=events, head=page.head)
        if not await feed.wait(view.uid, page.version, min(left_s, RECHECK_EVERY_S)):
            await _refuse_who_left(request, view)


def _event_outs(services: PortalServices, events: Sequence[Recorded]) -> list[api.EventOut]:
    without_others = services.cluster.without_others()
    return [answers.event_out(event_log.redacted_event(event, without_others)) for event in events]


async def _refuse_who_left(request: Request, view: ClusterView) -> None:
    """An answer is held no longer than its caller may have it."""
    recheck: Callable[[], Awaitable[Rights | None]] = request.state.recheck
    rights = await recheck()
    if rights is None:
        raise problems.ApiError(401, "token-over", "the token is over, or its owner may not come in any more")
    rights.require(Verb.READ, traits_of(view.document), view.name)


@router.post("/validate")
def validate(spec: spec_api.SpecIn, services: Services) -> spec_api.ValidateOut:
    """Every problem of a file at once, also against what is in force."""
    judged = specs.judge(services, spec.text, file=spec.file, takes_pairs=True)
    return spec_api.ValidateOut(
        ok=judged.ok,
        clusters=[d.document.metadata.name for d in judged.documents],
        problems=[spec_answers.problem_out(p) for p in judged.problems],
        topics=[f"{t.document.spec.cluster}/{t.document.topic}" for t in judged.topics],
        users=[f"{u.document.spec.cluster}/{u.document.user}" for u in judged.users],
        failovers=[pair.document.pair for pair in judged.pairs],
    )


@router.post("/plan")
def plan(spec: spec_api.SpecIn, services: Services) -> spec_api.PlansOut:
    """What applying a file would do."""
    judged = specs.judge(services, spec.text, file=spec.file, takes_pairs=True)
    return spec_api.PlansOut.like(
        judged,
        problems=[spec_answers.problem_out(p) for p in judged.problems],
        plans=[spec_answers.plan_out(p) for p in judged.plans],
        topics=list(judged.topic_plan),
        users=list(judged.user_plan),
        failovers=list(judged.pair_plan),
    )


@router.post("/apply")
def apply(
    order: spec_api.ApplyIn, services: Services, rights: Caller, actor: Actor, key: CommandId
) -> spec_api.ApplyOut:
    """Declares what a file says. Problems of the file are an answer (`ok` is False), a plan that moved is a refusal.

    What a policy leaves to a second person becomes a proposal, the whole file: nothing of it is declared yet.
    """
    judged = specs.judge(services, order.text, file=order.file, takes_pairs=True)
    rights.trail.refused = judged.refusal
    done = specs.Declared()
    proposal = ""
    if judged.ok and judged.reserved:
        if order.plan_digest is not None and order.plan_digest != judged.digest:
            message = "the plan is not what it was when it was agreed to"
            raise problems.ApiError(409, "plan-moved", message, next_step="Plan again, and look at what it says now.")
        if not order.dry_run:
            proposal = approvals.propose(services, judged, order.text, actor=actor, key=key, message=order.message).id
    elif judged.ok:
        how = specs.Order(
            actor=actor,
            command_id=key,
            message=order.message,
            plan_digest=order.plan_digest,
            dry_run=order.dry_run,
        )
        done = specs.declare(services, judged, how)
        spread(services, done.all)
    return spec_api.ApplyOut(
        ok=judged.ok,
        problems=[spec_answers.problem_out(p) for p in judged.problems],
        applied=[command_answers.applied_out(o) for o in done.clusters],
        plans=[spec_answers.plan_out(p) for p in judged.plans],
        topics=[spec_api.TopicsAppliedOut(cluster=o.name, changed=o.changed, sentence=o.sentence) for o in done.topics],
        users=[spec_api.TopicsAppliedOut(cluster=o.name, changed=o.changed, sentence=o.sentence) for o in done.users],
        failovers=[spec_api.PairAppliedOut(name=o.name, changed=o.changed, sentence=o.sentence) for o in done.pairs],
        proposal=proposal,
        reserved=list(judged.reserved),
    )


@router.post("/clusters/{name}/pause")
def pause(body: command_api.ReasonIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Begin no new step."""
    command = commands.PauseCluster(**head, reason=body.reason, until=answers.in_utc(body.until))
    return carry_out(services, command)


@router.post("/clusters/{name}/resume")
def resume(body: command_api.ReasonIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Go on, and forgive the attempts that failed."""
    return carry_out(services, commands.ResumeCluster(**head, reason=body.reason))


@router.post("/clusters/{name}/roll-now")
def roll_now(body: command_api.ReasonIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Begin what is left of the generation in force at once, whatever windows and earlier stages say."""
    return carry_out(services, commands.WaiveWindow(**head, reason=body.reason))


@router.post("/clusters/{name}/abort")
def abort(body: command_api.ReasonIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Stop the roll after the replacement in hand."""
    return carry_out(services, commands.AbortRecycle(**head, reason=body.reason))


@router.post("/clusters/{name}/delete")
def delete(body: command_api.DeleteIn, services: Services, head: Heading) -> command_api.CommandOut:
    """The tombstone; the name must be typed out."""
    command = commands.DeleteCluster(
        **head,
        confirm=body.confirm,
        reason=body.reason,
        despite_freeze=body.despite_freeze,
    )
    return carry_out(services, command)


@router.post("/clusters/{name}/losses")
def confirm_loss(body: command_api.LossIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Say that VMs are gone which a listing calls gone and Kedge does not believe to be; the name must be typed out."""
    command = commands.ConfirmLoss(**head, racks=tuple(body.racks), confirm=body.confirm, reason=body.reason)
    return carry_out(services, command)
