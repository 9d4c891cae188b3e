"""Rules about an overlay: what can be of one, and between whom there is a path. Nothing makes one yet, which is a rule
as well: the specs that are judged here are declared by nobody."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from events.quantities import counted
from events.spec import problems as p
from events.spec.domains import domain_of
from events.spec.model import KafkaSection, Pool
from events.spec.network import MOST_OVERLAY_NODES, OVERLAY_PORTS, OVERLAY_PROBE_PORT, NetworkSpec
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

_OVERLAY: Path = ("spec", "network", "overlay")
_PUBLIC_IPV6 = frozenset({"aws", "google", "digitalocean", "hetzner"})
"""Clouds where `ipv6: true` is an address that the other clouds reach; Azure's is private."""
_ALWAYS_PUBLIC = frozenset({"digitalocean"})
"""Clouds whose VMs all have a public IPv4 address."""


def has_overlay(network: NetworkSpec | None) -> bool:
    return network is not None and network.overlay is not None


def overlay_problems(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """All that is wrong with it, each by itself. A rule runs when all it needs is there."""
    network: NetworkSpec | None = sections.get("network")
    if network is None or network.overlay is None:
        return
    message = "an overlay is only checked by this release: nothing would make it, and nodes would speak in clear"
    yield where.problem(p.OVERLAY_UNBUILT, _OVERLAY, message, "Leave `network.overlay` away until a release makes it.")
    ports = range(network.overlay.port, network.overlay.port + OVERLAY_PORTS)
    if OVERLAY_PROBE_PORT in ports:
        message = (
            f"ports {ports[0]} to {ports[-1]} hold {OVERLAY_PROBE_PORT}, at which agents probe paths within the tunnels"
        )
        fix = f"Take {OVERLAY_PROBE_PORT + 1}, or one below {OVERLAY_PROBE_PORT - OVERLAY_PORTS + 1}."
        yield where.problem(p.OVERLAY_PORT, (*_OVERLAY, "port"), message, fix)
    kafka: KafkaSection | None = sections.get("kafka")
    if kafka is not None and kafka.mode == "zookeeper":
        message = "an overlay needs KRaft: servers of an ensemble are known by their addresses, which would change"
        yield where.problem(p.OVERLAY_MODE, _OVERLAY, message, "Migrate to KRaft first, or leave `overlay` away.")
    if sections.get("external") is not None:
        message = "parts of this cluster are run by others, and no tunnel of Kedge's reaches them"
        yield where.problem(p.OVERLAY_MODE, _OVERLAY, message, "Leave `overlay` away.")
    pools: tuple[Pool, ...] = sections.get("pools") or ()
    yield from _local(pools, where)
    yield from _nodes(pools, where)
    yield from _paths(pools, where)


def _local(pools: Sequence[Pool], where: Positions) -> Iterator[Problem]:
    for index, pool in enumerate(pools):
        if pool.place.cloud == "local":
            message = (
                f"pool `{pool.name}` is on the local cloud, whose VMs have the loopback network of one machine in "
                "common: tunnels, routes and packet filter would be the machine's own"
            )
            fix = "Leave `overlay` away on the local cloud: nothing there leaves the machine."
            yield where.problem(p.OVERLAY_LOCAL, ("spec", "pools", index, "place", "cloud"), message, fix)


def _nodes(pools: Sequence[Pool], where: Positions) -> Iterator[Problem]:
    nodes = sum(pool.size for pool in pools)
    if nodes > MOST_OVERLAY_NODES:
        message = (
            f"{counted(nodes, 'node')} are more than {MOST_OVERLAY_NODES}: each agent probes each other one once a "
            "second, by each kind of path"
        )
        fix = f"Make it a cluster of {MOST_OVERLAY_NODES} nodes at most, or leave `overlay` away."
        yield where.problem(p.OVERLAY_SIZE, _OVERLAY, message, fix)


def _paths(pools: Sequence[Pool], where: Positions) -> Iterator[Problem]:
    """Between two networks that no route joins one side has to have an address that the other one can call: of IPv4, or
    of IPv6 where the caller has that as well."""
    for index, pool in enumerate(pools):
        other = next((one for one in pools[:index] if not _reach_one_another(one, pool)), None)
        if other is not None:
            message = (
                f"between pool `{pool.name}` in {pool.place.name} and pool `{other.name}` in {other.place.name} there "
                "is no path: no private route joins their networks, and neither has a public address"
            )
            fix = (
                "Give one of them `publicAddress: true`, or both `ipv6: true` where it is public in both clouds, or "
                "both the same `route`."
            )
            yield where.problem(p.OVERLAY_PATH, ("spec", "pools", index, "place"), message, fix)


def _reach_one_another(one: Pool, other: Pool) -> bool:
    if domain_of(one.place) == domain_of(other.place) or has_public_address(one) or has_public_address(other):
        return True
    return has_public_ipv6(one) and has_public_ipv6(other)


def has_public_address(pool: Pool) -> bool:
    """Whether its VMs are called at IPv4 addresses of the internet."""
    return pool.public_address or pool.place.cloud in _ALWAYS_PUBLIC


def has_public_ipv6(pool: Pool) -> bool:
    """Whether its VMs are called at IPv6 addresses of the internet."""
    return pool.ipv6 and pool.place.cloud in _PUBLIC_IPV6
