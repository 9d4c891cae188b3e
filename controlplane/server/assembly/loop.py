"""The converger with what it keeps beside the ticks, on the ground and with the hands of a server."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controlplane.cluster.kedge_rights import AclReconciler
from controlplane.cluster.observed.cloud_drift import Noted
from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.cure_budget import FleetCures
from controlplane.converger.situation.ports import CloudTraits, Ports, ZooKeeperPorts
from controlplane.converger.tick.consoles import reading_through
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.networks.reconciler import NetworkReconciler
from controlplane.fleet.networks.server_addresses import server_cidrs
from controlplane.server.assembly.adapters import Hands, hands_of
from controlplane.server.assembly.core import Ground
from controlplane.server.assembly.drift import DriftRoom, drift_of
from controlplane.server.assembly.networks import Clouds, network_reconciler_of
from controlplane.server.boot_data import boot_data
from controlplane.server.clouds import packet_filter_in
from controlplane.server.settings import Settings
from controlplane.storage.certificates.own_authority_look import look_at
from events.clock import utc_now
from providers.handover import handover_of
from providers.lateness import unlisted_s
from providers.mounted import holds_mounted


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """All clusters, with what each of them is judged by. A portal has them as well, and never ticks them."""

    clouds: Clouds
    converger: Converger
    networks: NetworkReconciler
    images: ImageCache
    freezes: FreezeCache
    pairs: PairCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Folded):
    """Ticks ask `drift`, too."""

    hands: Hands
    drift: DriftRoom


def loop_of(ground: Ground) -> Loop:
    """Clouds ask for networks, whose reconciler works through ports, which ask clouds; audits close such a ring, too.
    Who asks back does so by a lambda, first called when a cluster is looked at: by then all are there."""
    settings = ground.settings
    hands = hands_of(ground, networks=lambda place: networks.settings_of(place))
    ports = _ports(
        ground,
        hands,
        networks=lambda view: networks.waits_for(view),
        packet_filter=lambda view, vm: packet_filter_in(
            hands.clouds, networks.cidr_at, view, vm, settings.clouds.server_addresses
        ),
        drift=lambda view: drift.reconciler.noted(view),
    )
    servers = server_cidrs(settings.clouds.server_addresses, settings.agents.called)
    networks = network_reconciler_of(ports, hands.clouds, hands.runner, settings.networks.address_pool, servers)
    images = ImageCache()
    freezes, pairs = FreezeCache(tuple(binding.freeze for binding in settings.freezes)), PairCache()
    converger = Converger(
        ports,
        _brake(settings),
        workers=settings.loop.workers,
        rest_s=settings.loop.rest_s,
        loss_grace_s=settings.loop.loss_grace_s,
        cost_tags=settings.clouds.cost_tags,
        why_not_spark=hands.planning.why_not_spark,
        waits_for_spark=hands.planning.why_waiting,
        wake=hands.bell.ring,
        networks=networks,
        images=images,
        freezes=freezes,
        pairs=pairs,
    )
    drift = drift_of(
        settings, ports, hands.runner, fleet=converger, networks=networks.at_rest, leadership=ground.candidate
    )
    return Loop(
        clouds=hands.clouds,
        converger=converger,
        networks=networks,
        images=images,
        freezes=freezes,
        pairs=pairs,
        hands=hands,
        drift=drift,
    )


def _brake(settings: Settings) -> FleetBrake:
    return FleetBrake(
        settings.loop.max_rolling, settings.loop.max_surge_per_account, FleetCures(settings.loop.max_cures_per_day)
    )


def _ports(
    ground: Ground,
    hands: Hands,
    *,
    networks: Callable[[ClusterView], tuple[NetworkAwaited, ...]],
    packet_filter: Callable[[ClusterView, InstanceView], str],
    drift: Callable[[ClusterView], Noted],
) -> Ports:
    gateways, clouds = hands.gateways, hands.clouds
    return Ports(
        passwords=ground.user_passwords,
        store=ground.store,
        jobs=ground.jobs,
        plans=ground.plans,
        latest=ground.latest,
        inventory=hands.inventory,
        runner=hands.runner,
        kafka=gateways.of,
        kedge_rights=AclReconciler(gateways.of, gateways.as_node),
        own_authorities=lambda name, signer, is_own: look_at(
            ground.cluster_authorities.own, name, signer, is_own=is_own
        ),
        boot_data=partial(boot_data, ground.home, ground.installation),
        installation_id=ground.installation.id,
        clock=utc_now,
        epoch=ground.candidate.epoch,
        networks=networks,
        packet_filter=packet_filter,
        drift=drift,
        console=reading_through(clouds),
        zookeeper=ZooKeeperPorts(
            registered_id=gateways.registered_id,
            fix_cluster_id=gateways.fix_cluster_id,
            registry=gateways.registry,
            forget_migration=gateways.forget_migration,
            content_is_right=gateways.content_is_right,
            put_content=gateways.put_content,
            restart_lock=gateways,
        ),
        clouds=CloudTraits(
            handover=lambda cloud: handover_of(clouds(cloud)),
            unlisted_s=lambda cloud: unlisted_s(clouds(cloud)),
            holds_mounted=lambda cloud: holds_mounted(clouds(cloud)),
        ),
    )
