"""Through what people and repositories ask: commands under policies, with the audit, and who people are."""

from dataclasses import dataclass
from functools import partial

from controlplane.assembly.ground import Ground
from controlplane.assembly.loop import Loop
from controlplane.clouds import unbootable_in
from controlplane.converger.windows import frozen_words
from controlplane.gitsync.setup import Sources, sources_of
from controlplane.handlers import CommandHandler
from controlplane.policies.gate import PolicyGate
from controlplane.policies.shelf import PolicyShelf
from controlplane.portal.access.people import People
from controlplane.portal.access.setup import people_of
from controlplane.portal.approvals import approves_still
from controlplane.portal.audit.commands import AuditedCommands
from controlplane.portal.audit.store import SqlAuditStore
from controlplane.proposals.book import ProposalBook
from controlplane.proposals.gitproposals import GitProposals
from controlplane.reports import reports_of
from events.clock import utc_now
from providers.pricebook import read_price_book


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked goes through `gate` and `commands`, whoever asks."""

    gate: PolicyGate
    commands: CommandHandler
    audit: SqlAuditStore
    people: People
    sources: Sources


def asking_of(ground: Ground, loop: Loop) -> Asking:
    """Nothing is polled yet. A policy that cannot be read is told in the log now, not at the first change."""
    settings, converger = ground.settings, loop.converger
    gate = PolicyGate(PolicyShelf(settings.home / "policies", partial(read_price_book, settings.home)), converger)
    gate.policies.current()
    commands = CommandHandler(
        ground.store,
        last_snapshot=converger.last_snapshot,
        clients_must_avoid=settings.networks.pool,
        gate=gate,
        unbootable=partial(unbootable_in, loop.hands.clouds),
        cost_tags=settings.cost_tags,
        reports=partial(reports_of, ground.latest),
        frozen=lambda view: frozen_words(view, loop.freezes.left(utc_now()), utc_now()),
    )
    audit, people = SqlAuditStore(ground.engine), people_of(settings, ground.engine)
    return Asking(gate, commands, audit, people, _sources(ground, loop, commands, audit, people))


def _sources(ground: Ground, loop: Loop, commands: CommandHandler, audit: SqlAuditStore, people: People) -> Sources:
    still = partial(approves_still, people, commands.current, utc_now)
    return sources_of(
        ground.settings,
        store=ground.store,
        commands=AuditedCommands(commands, audit, ground.store.head, utc_now),
        fleet=loop.converger,
        leadership=ground.candidate,
        wake=loop.hands.bell.ring,
        clock=utc_now,
        proposals=GitProposals(ProposalBook(ground.store, utc_now), still, utc_now),
    )
