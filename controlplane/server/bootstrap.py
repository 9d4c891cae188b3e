"""The one place that builds things: settings in, a server's parts out, wired. Each domain's are in `assembly/`."""

from functools import partial

from controlplane.converger.tick.beats import LoopWatch
from controlplane.converger.tick.scheduler import Scheduler
from controlplane.converger.tick.status import ServerLoop
from controlplane.server.assembly.api import api_of
from controlplane.server.assembly.background import Rooms, rooms_of
from controlplane.server.assembly.commands import CommandParts, asking_of
from controlplane.server.assembly.core import Ground, ground_of
from controlplane.server.assembly.loop import Loop, loop_of
from controlplane.server.assembly.terraform_states import refuse_beside_local
from controlplane.server.parts import BackgroundParts, Services
from controlplane.server.settings import Settings
from controlplane.server.split.setup import teller_of
from controlplane.storage.channels import REPORTED, channels_of
from controlplane.storage.home_binding import HomeRefused, agree_on_agent_url
from events.ids import Epoch


def build(
    settings: Settings,
    *,
    listens_on: tuple[str, int] | None = None,
    states_on: tuple[str, int] | None = None,
    take_over_home: bool = False,
    move_states: bool = False,
) -> Services:
    """Builds a server on its home and its database, migrated; starts nothing but thread pools. `listens_on` is the
    address its socket is bound to, `states_on` that of Terraform's states. Raises MirrorRefused, MigrationError,
    RoleRefused, HomeRefused, AuthorityRefused, StoreUnavailable, PositionGap, OSError.
    """
    address = listens_on or (settings.process.host, settings.process.port)
    ground = ground_of(settings, states_at=states_on or address, take_over_home=take_over_home, move_states=move_states)
    loop = loop_of(ground)
    asking = asking_of(ground, loop)
    rooms = rooms_of(ground, loop, asking)
    watch = LoopWatch()
    service = _service(ground, loop, asking, rooms, watch)
    channels = channels_of(settings.database_url)
    channels.subscribe(REPORTED, loop.hands.bell.ring)
    portal = api_of(ground, loop, asking, rooms, service, listens_on=address, channels=channels)
    teller = teller_of(settings, portal, service, ground.latest, asking.sources, ground.cluster_authorities)
    scheduler = _scheduler(ground, loop, asking, watch)
    _refuse_where_it_cannot_join(ground, loop)
    return Services(
        settings=settings,
        home=ground.home,
        portal=portal,
        converger=loop.converger,
        scheduler=scheduler,
        candidate=ground.candidate,
        runner=loop.hands.runner,
        planning=loop.hands.planning,
        gateways=loop.hands.gateways,
        authority=ground.authority,
        channels=channels,
        agree_on_agent_url=partial(agree_on_agent_url, ground.engine, ground.identity.home_id),
        dispose=ground.dispose,
        background=BackgroundParts(
            sources=asking.sources,
            names=rooms.names,
            groups=rooms.groups,
            topics=rooms.topics,
            drift=loop.drift,
            anomalies=rooms.anomalies,
            agents=rooms.agents,
            games=rooms.games,
            audit=rooms.audit,
            pipeline=rooms.pipeline,
            authority_copy=rooms.authority_copy,
            passwords=rooms.passwords,
            pairs=rooms.pairs,
            teller=teller,
        ),
    )


def _service(ground: Ground, loop: Loop, asking: CommandParts, rooms: Rooms, watch: LoopWatch) -> ServerLoop:
    return ServerLoop(
        server=ground.candidate.owner,
        interval_s=ground.settings.loop.tick_interval_s,
        store=ground.store,
        jobs=ground.jobs,
        ticked=loop.converger,
        watch=watch,
        tagged=loop.hands.inventory.by_tag,
        timers={
            "git source": asking.sources.poller,
            "DNS names": rooms.names,
            "consumer groups": rooms.groups.poller,
            "topics": rooms.topics.poller,
            "cloud audit": loop.drift.poller,
            "anomalies": rooms.anomalies.poller,
            "agents": rooms.agents.poller,
            "game days": rooms.games.poller,
            "audit": rooms.audit.poller,
            "metrics": rooms.pipeline.poller,
            "copies": rooms.authority_copy,
            "passwords": rooms.passwords,
            "failovers": rooms.pairs.poller,
            "copies of pairs": rooms.pairs.copies,
        },
        pipeline=rooms.pipeline.supervisor.status,
        plans=loop.hands.planning.totals,
        progress=loop.hands.runner.progress,
    )


def _scheduler(ground: Ground, loop: Loop, asking: CommandParts, watch: LoopWatch) -> Scheduler:
    def on_lead(epoch: Epoch) -> None:
        loop.hands.runner.reclaim(epoch)
        asking.sources.ring_all()

    return Scheduler(
        loop.converger,
        ground.candidate,
        loop.hands.bell,
        interval_s=ground.settings.loop.tick_interval_s,
        on_lead=on_lead,
        watch=watch,
    )


def _refuse_where_it_cannot_join(ground: Ground, loop: Loop) -> None:
    """A home that is new on a database of others, whose clusters may be where it cannot see them."""
    if not ground.claimed.joined:
        return
    loop.converger.catch_up()
    try:
        refuse_beside_local(ground.engine, ground.identity.home_id, loop.converger.views())
    except HomeRefused:
        ground.dispose()
        raise
