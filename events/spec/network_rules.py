"""Rules about networks: which one a pool is in, and who of outside may reach its brokers."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network

from events.spec import problems as p
from events.spec.clients import Access
from events.spec.domains import INTERNET, domain_of
from events.spec.model import KafkaClusterDocument, Pool
from events.spec.pool_rules import CLOUDS
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.security import Listener

_CLIENTS: Path = ("spec", "access", "clients")
_LISTENERS: Path = ("spec", "listeners")
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


def domain_problems(
    pools: tuple[Pool, ...], listeners: tuple[Listener, ...], where: Positions, *, is_joined: bool = False
) -> Iterator[Problem]:
    """Members of a cluster speak to one another: all of them are in one network domain, or are joined by an overlay;
    and nobody is in the public one while anything is plaintext, as what brokers and controllers say to one another
    always is."""
    first = next((pool for pool in pools if pool.place.cloud in CLOUDS), pools[0])
    for index, pool in enumerate(pools):
        if pool.place.cloud not in CLOUDS:
            continue  # told by itself
        path = ("spec", "pools", index, "place", "route")
        if pool.place.route == INTERNET:
            why = "brokers are advertised at their private addresses"
            if not all(one.asks for one in listeners):
                is_open = any(one.security == "plaintext" for one in listeners)
                why = "listeners are plaintext" if is_open else "listeners ask nobody who they are"
            message = f"pool `{pool.name}` would be reached over the internet, and {why}"
            fix = "Connect the networks by a private route (peering, VPN), and write its name."
            yield where.problem(p.PUBLIC, path, message, fix)
        elif not is_joined and domain_of(pool.place) != domain_of(first.place):
            message = (
                f"pool `{pool.name}` is in {pool.place.name}, pool `{first.name}` in {first.place.name}, and no "
                "private route between their networks is declared; brokers and controllers have to reach one another"
            )
            yield where.problem(p.DOMAINS, path, message, _way_out(pool, first))


def move_problems(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """A pool that moves is in two places for a while: the one it leaves reaches the one it goes to."""
    before = {pool.name: pool for pool in old.spec.pools}
    for index, pool in enumerate(new.spec.pools):
        was = before.get(pool.name)
        if was is None or was.place.name == pool.place.name or domain_of(was.place) == domain_of(pool.place):
            continue
        message = (
            f"pool `{pool.name}` moves from {was.place.name} to {pool.place.name}, and no private route between the "
            "two is in force; while it moves, brokers here and there copy from one another"
        )
        fix = "A cluster on the local cloud stays there."
        if "local" not in (was.place.cloud, pool.place.cloud):
            route = pool.place.route or "NAME"
            fix = f"Connect the networks, write `route: {route}` while the pool is where it is, apply; then move it."
        yield where.problem(p.DOMAINS, ("spec", "pools", index, "place", "region"), message, fix)


def _way_out(pool: Pool, first: Pool) -> str:
    if "local" in (pool.place.cloud, first.place.cloud):
        return "Keep them on one cloud: nothing is routed to the local cloud's loopback addresses."
    name = pool.place.route or first.place.route or "NAME"
    return f"Connect the two networks (peering, VPN), then write `route: {name}` for both pools; or keep them in one."


def pool_problems(document: KafkaClusterDocument, pool: IPv4Network, where: Positions) -> Iterator[Problem]:
    """Clients said to come from where Kedge's own networks get their addresses; `pool` is of the settings."""
    for path, text in _every_client(document):
        if IPv4Network(text, strict=False).overlaps(pool):
            message = f"`{text}` overlaps {pool}, where the networks of clusters get their addresses"
            fix = "Name the network as brokers see it, or move `networks.pool` in the server's settings."
            yield where.problem(p.CLIENTS, path, message, fix)


def _every_client(document: KafkaClusterDocument) -> Iterator[tuple[Path, str]]:
    for index, text in enumerate(document.spec.access.clients):
        yield (*_CLIENTS, index), text
    for number, listener in enumerate(document.spec.listeners):
        for index, text in enumerate(listener.clients or ()):
            yield (*_LISTENERS, number, "clients", index), text


def _no_network(text: str) -> str:
    try:
        IPv6Network(text, strict=False)
    except ValueError:
        return f"`{text}` is not a network"
    return f"`{text}` is of IPv6, and brokers listen at their private IPv4 addresses alone"


def client_problems(access: Access, listeners: tuple[Listener, ...], where: Positions) -> Iterator[Problem]:
    """Everything wrong with the networks clients come from: those of the cluster, and those of a listener alone."""
    followers = [listener for listener in listeners if listener.clients is None]
    yield from _networks(access.clients, _CLIENTS, followers, where)
    for number, listener in enumerate(listeners):
        yield from _networks(listener.clients or (), (*_LISTENERS, number, "clients"), (listener,), where)


def _networks(
    clients: tuple[str, ...], where_listed: Path, listeners: Sequence[Listener], where: Positions
) -> Iterator[Problem]:
    """`listeners` are those that let them in."""
    unasked = [listener.name for listener in listeners if not listener.asks]
    for index, text in enumerate(clients):
        path = (*where_listed, index)
        try:
            network = IPv4Network(text, strict=False)
        except ValueError:
            fix = "Write an IPv4 network, as in `10.8.0.0/16`, or `10.8.0.7/32` for one address."
            yield where.problem(p.CLIENTS, path, _no_network(text), fix)
            continue
        if str(network) != text:
            message = f"`{text}` has bits beyond its length: nobody can tell whether one address is meant or a network"
            fix = f"Write `{network}`, or `{text.partition('/')[0]}/32`."
            yield where.problem(p.CLIENTS, path, message, fix)
        elif network.prefixlen < _EVERYBODY and unasked:
            message = f"`{text}` lets everybody in, and listener `{unasked[0]}` asks nobody who they are"
            fix = "Name the networks your clients are in."
            yield where.problem(p.OPEN_TO_ALL, path, message, fix)
        elif text in clients[:index]:
            yield where.problem(p.REPEATED, path, f"`{text}` is listed twice", "List it once.")
