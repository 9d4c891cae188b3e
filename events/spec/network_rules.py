"""Rules about networks: which one a pool is in, and who of outside may reach its brokers."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network

from events.spec import problems as p
from events.spec.model import Access, KafkaClusterDocument, Listener, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

UNFILTERED = ("upcloud",)
"""Clouds whose private networks have no firewall: who is in one, or routed to it, reaches every port."""

_CLIENTS: Path = ("spec", "access", "clients")
_EVERYBODY = 8
"""A network of fewer bits is no set of clients any more: 0.0.0.0/0, 0.0.0.0/1, 128.0.0.0/1 and the like."""


def network_problems(pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Pools of one place are in one network: they have one Terraform state, and reach one another."""
    first: dict[tuple[str, str, str], Pool] = {}
    for index, pool in enumerate(pools):
        key = pool.place.cloud, pool.place.account, pool.place.region
        other = first.setdefault(key, pool)
        if other.place.network != pool.place.network:
            message = (
                f"pool `{pool.name}` is in network `{pool.place.network}` and pool `{other.name}` of the same place in "
                f"`{other.place.network}`; brokers and controllers have to reach one another"
            )
            fix = f"Use `network: {other.place.network}` for both."
            yield where.problem(p.NETWORKS, ("spec", "pools", index, "place", "network"), message, fix)


def pool_problems(document: KafkaClusterDocument, pool: IPv4Network, where: Positions) -> Iterator[Problem]:
    """Clients said to come from where Kedge's own networks get their addresses; `pool` is of the settings."""
    for index, text in enumerate(document.spec.access.clients):
        if IPv4Network(text, strict=False).overlaps(pool):
            message = f"`{text}` overlaps {pool}, where the networks of clusters get their addresses"
            fix = "Name the network as brokers see it, or move `networks.pool` in the server's settings."
            yield where.problem(p.CLIENTS, (*_CLIENTS, index), message, fix)


def client_problems(
    access: Access, listeners: tuple[Listener, ...], pools: Mapping[int, Pool], where: Positions
) -> Iterator[Problem]:
    """Everything wrong with the networks clients come from."""
    plaintext = [listener.name for listener in listeners if listener.security == "plaintext"]
    for index, text in enumerate(access.clients):
        path = (*_CLIENTS, index)
        try:
            network = IPv4Network(text, strict=False)
        except ValueError:
            fix = "Write an IPv4 network, as in `10.8.0.0/16`, or `10.8.0.7/32` for one address."
            yield where.problem(p.CLIENTS, path, f"`{text}` is no network", fix)
            continue
        if str(network) != text:
            message = f"`{text}` has bits beyond its length: nobody can tell whether one address is meant or a network"
            fix = f"Write `{network}`, or `{text.partition('/')[0]}/32`."
            yield where.problem(p.CLIENTS, path, message, fix)
        elif network.prefixlen < _EVERYBODY and plaintext:
            message = f"`{text}` lets everybody in, and listener `{plaintext[0]}` asks nobody who they are"
            fix = "Name the networks your clients are in."
            yield where.problem(p.OPEN_TO_ALL, path, message, fix)
        elif text in access.clients[:index]:
            yield where.problem(p.REPEATED, path, f"`{text}` is listed twice", "List it once.")
    unfiltered = next((pool for pool in pools.values() if pool.place.cloud in UNFILTERED), None)
    if access.clients and unfiltered is not None:
        cloud = unfiltered.place.cloud
        message = f"`{cloud}` filters nothing in a private network, so nobody could be let in or kept out by address"
        fix = "Leave `access.clients` empty and route the clients' network to that of the cluster."
        yield where.problem(p.CLIENTS, _CLIENTS, message, fix)
