"""Through what people and repositories ask: commands under policies, with the audit, and who people are."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from controlplane.api.access.accounts import People
from controlplane.api.approvals import approves_still
from controlplane.api.audit.commands import AuditedCommands, AuditedPairs
from controlplane.api.audit.store import SqlAuditStore
from controlplane.background.failovers.look import PairLook
from controlplane.cluster.observed.agent_reports import reports_of
from controlplane.cluster.spec_source import git_source
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.failovers import FailoverService
from controlplane.commands.handler import CommandHandler
from controlplane.commands.policies.gate import LivingFleet, PolicyGate
from controlplane.commands.policies.store import PolicyStore
from controlplane.converger.questions.windows import frozen_words
from controlplane.fleet.failovers.held_rolls import all_freezes
from controlplane.fleet.proposals.from_git import GitProposals
from controlplane.fleet.proposals.stream import ProposalFold
from controlplane.server.assembly.access import people_of
from controlplane.server.assembly.core import Base, Ground
from controlplane.server.assembly.git_sync import Sources, sources_of
from controlplane.server.assembly.loop import Folded, Loop
from controlplane.server.clouds import unbootable_in
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from events.clock import utc_now
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot
from providers.price_list import read_price_list


@dataclass(frozen=True, slots=True)
class CommandParts:
    """What is asked goes through `judge` and `commands`, whoever asks."""

    judge: SpecJudge
    commands: CommandHandler
    audit: SqlAuditStore
    people: People
    sources: Sources


def asking_of(ground: Ground, loop: Loop) -> CommandParts:
    """Nothing is polled yet."""
    judge = judge_of(ground, loop, loop.converger, ground.cluster_authorities.own)
    commands = handler_of(ground, loop, judge, loop.converger.last_snapshot)
    audit, people = SqlAuditStore(ground.engine), people_of(ground.settings, ground.engine)
    return CommandParts(judge, commands, audit, people, _sources(ground, loop, commands, audit, people))


def judge_of(
    base: Base, folded: Folded, fleet: LivingFleet, own_authorities: OwnAuthorities | None = None
) -> SpecJudge:
    """A portal's judges as that of its loop. A policy that cannot be read is told in the log now, not at the first
    change."""
    home = base.settings.home
    gate = PolicyGate(PolicyStore(home / "policies", partial(read_price_list, home)), fleet)
    gate.policies.current()
    return SpecJudge(
        gate=gate,
        unbootable=partial(unbootable_in, folded.clouds),
        cost_tags=base.settings.clouds.cost_tags,
        image_for=lambda view: folded.images.offer(view, utc_now()).chosen,
        clients_must_avoid=base.settings.networks.pool,
        own_authorities=own_authorities,
        password_sinks=base.settings.kafka.password_sinks.keys(),
    )


def handler_of(
    base: Base, folded: Folded, judge: SpecJudge, last_snapshot: Callable[[ClusterUid], KafkaSnapshot | None]
) -> CommandHandler:
    """The same for the loop and for a portal."""
    return CommandHandler(
        base.store,
        last_snapshot=last_snapshot,
        judge=judge,
        reports=partial(reports_of, base.latest),
        frozen=partial(_frozen, folded),
        paired=partial(_pair_of, folded),
    )


def failovers_of(
    base: Base, folded: Folded, current: Callable[[str], ClusterView], look: PairLook | None = None
) -> FailoverService:
    """The same for the loop and for a portal. Without a `look` nothing is seen of a pair but its events."""
    bound = {git_source(binding.name) for binding in base.settings.git}
    service = FailoverService(
        base.store,
        folded.pairs,
        current,
        folded.converger.views,
        folded.converger.catch_up,
        is_bound=bound.__contains__,
    )
    return service if look is None else replace(service, seen=look.of, in_its_way=look.troubles)


def _frozen(folded: Folded, view: ClusterView) -> str:
    now = utc_now()
    return frozen_words(view, all_freezes(folded.freezes, folded.pairs, view, now), now)


def _pair_of(folded: Folded, view: ClusterView) -> str:
    """As of now: a cluster that was paired a moment ago is not to be deleted."""
    folded.converger.catch_up()
    return folded.pairs.pairs().pair_of(view.uid)


def _sources(ground: Ground, loop: Loop, commands: CommandHandler, audit: SqlAuditStore, people: People) -> Sources:
    still = partial(approves_still, people, commands.current, utc_now)
    return sources_of(
        ground.settings,
        store=ground.store,
        commands=AuditedCommands(commands, audit, ground.store.head, utc_now),
        pairs=AuditedPairs(failovers_of(ground, loop, commands.current), audit, ground.store.head, utc_now),
        fleet=loop.converger,
        leadership=ground.candidate,
        wake=loop.hands.bell.ring,
        clock=utc_now,
        proposals=GitProposals(ProposalFold(ground.store, utc_now), still, utc_now),
    )
