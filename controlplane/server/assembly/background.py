"""What looks after a fleet beside the ticks, each by a timer of its own: names, groups, topics, anomalies, agents,
game days, the topic of the audit."""

import threading
from dataclasses import dataclass
from functools import partial

from controlplane.api.audit.lock import turn_of
from controlplane.api.audit.relay import AuditRoom, audit_room_of, watch_of
from controlplane.background.failovers.findings import PairWatch
from controlplane.background.game_days.referee import GameWorld
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.commands.chaos_injection import bring_about
from controlplane.runtime.polling import Poller
from controlplane.server.assembly import agent_upgrades, commands, consumer_groups, core, dns, failovers, game_days
from controlplane.server.assembly.anomalies import AnomalyRoom, anomalies_of
from controlplane.server.assembly.loop import Loop
from controlplane.server.assembly.metric_pipeline import PipelineRoom, pipeline_of
from controlplane.server.assembly.password_sinks import password_delivery_of
from controlplane.server.assembly.topics import TopicRoom, topics_of
from controlplane.storage.certificates.authority_copy import AuthorityCopy
from controlplane.storage.certificates.principals import Member
from events.clock import utc_now

AUTHORITY_COPY = "copy of CAs"
_COPIED_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Rooms:
    """None of them has begun to look."""

    names: Poller
    groups: consumer_groups.GroupsRoom
    topics: TopicRoom
    anomalies: AnomalyRoom
    agents: agent_upgrades.AgentsRoom
    games: game_days.GamesRoom
    audit: AuditRoom
    pipeline: PipelineRoom
    authority_copy: Poller
    """Keeps the CAs of clusters in the home, too."""
    passwords: Poller
    """Writes passwords of users to sinks."""
    pairs: failovers.PairsRoom
    """Carries pairs of clusters on."""


def rooms_of(ground: core.Ground, loop: Loop, asking: commands.CommandParts) -> Rooms:
    """Raises ServerSettingsRefused for a DNS zone or a notifier that cannot be used."""
    settings, latest, candidate, fleet = ground.settings, ground.latest, ground.candidate, loop.converger
    groups = consumer_groups.groups_of(
        settings,
        fleet=fleet,
        latest=latest,
        leadership=candidate,
        clock=utc_now,
        identities=_identities(ground),
    )
    names = dns.names_of(
        settings,
        fleet=fleet,
        pairs=loop.pairs.pairs,
        latest=latest,
        installation_id=ground.installation.id,
        leadership=candidate,
        clock=utc_now,
    )
    return Rooms(
        names=names,
        groups=groups,
        topics=topics_of(
            ground.engine, fleet=fleet, latest=latest, leadership=candidate, epoch=candidate.held_epoch, clock=utc_now
        ),
        anomalies=_anomalies(ground, loop, asking, groups),
        agents=_agents(ground, loop),
        games=_games(ground, loop, asking),
        audit=audit_room_of(
            settings.audit_topic,
            asking.audit,
            candidate,
            turn=turn_of(ground.engine),
            watch=watch_of(settings.audit_topic, asking.audit, ground.engine, utc_now),
            clock=utc_now,
        ),
        pipeline=pipeline_of(settings, fleet=fleet, leadership=candidate, identities=_identities(ground, "metrics")),
        authority_copy=_authority_copy(ground),
        passwords=password_delivery_of(
            settings,
            fleet=fleet,
            passwords=ground.user_passwords,
            commands=asking.commands,
            leadership=candidate,
            clock=utc_now,
        ),
        pairs=failovers.pairs_of(ground, loop, asking, names, _identities(ground)),
    )


def _authority_copy(ground: core.Ground) -> Poller:
    """By who leads, and by every other that did: whoever makes CAs has them in its home within seconds."""
    polled = {AUTHORITY_COPY: AuthorityCopy(ground.engine, ground.home.path)}
    every_s = {AUTHORITY_COPY: _COPIED_EVERY_S}
    return Poller(polled, every_s, leadership=ground.candidate, stop=threading.Event())


def _anomalies(
    ground: core.Ground, loop: Loop, asking: commands.CommandParts, groups: consumer_groups.GroupsRoom
) -> AnomalyRoom:
    return anomalies_of(
        ground.settings,
        engine=ground.engine,
        fleet=loop.converger,
        store=ground.store,
        latest=ground.latest,
        commands=asking.commands,
        leadership=ground.candidate,
        epoch=ground.candidate.epoch,
        clock=utc_now,
        kafka=groups.gateways.of,
        freezes=loop.freezes,
        traffic=loop.converger.traffic,
        pairs=PairWatch(loop.pairs, failovers.look_of(loop.converger, ground.latest)).findings,
    )


def _identities(ground: core.Ground, member: Member = "server") -> ServerIdentities:
    """One for each room: what has changed is told to each once."""
    files = ground.settings.kafka.client_properties
    return ServerIdentities(ground.cluster_authorities, client_files=files, member=member)


def _agents(ground: core.Ground, loop: Loop) -> agent_upgrades.AgentsRoom:
    return agent_upgrades.agents_of(
        ground.settings,
        store=ground.store,
        latest=ground.latest,
        fleet=loop.converger,
        freezes=loop.freezes,
        server_key=ground.installation.server_key,
        leadership=ground.candidate,
        epoch=ground.candidate.held_epoch,
        clock=utc_now,
    )


def _games(ground: core.Ground, loop: Loop, asking: commands.CommandParts) -> game_days.GamesRoom:
    house = GameWorld(
        fleet=loop.converger,
        commands=asking.commands,
        latest=ground.latest,
        harm=partial(bring_about, loop.hands.clouds),
        epoch=ground.candidate.held_epoch,
        may_still=partial(game_days.may_harm_still, asking.people, utc_now),
        wake=loop.hands.bell.ring,
        clock=utc_now,
    )
    return game_days.games_of(house, ground.candidate)
