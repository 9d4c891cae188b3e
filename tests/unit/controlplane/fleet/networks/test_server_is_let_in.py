"""A cloud lets its own server in: networks Kedge makes are made with its addresses, and follow when they change."""

from collections.abc import Collection
from dataclasses import replace
from ipaddress import IPv4Network

import pytest

from controlplane.fleet.networks.fold import NetworkView
from controlplane.fleet.networks.reconciler import NetworkReconciler
from controlplane.fleet.networks.server_addresses import server_cidrs, server_network
from events import facts
from providers.networks import NetworkRunKind
from tests.sim.networkworld import NetworkWorld

HERE, THERE = "10.0.0.5/32", "10.0.0.6/32"
POOL = IPv4Network("10.64.0.0/10")


def a_world(*servers: str, known: bool = True, account: str = "main") -> NetworkWorld:
    world = NetworkWorld()
    dials(world, *servers, known=known)
    world.declare("orders", account=account)
    world.settle()
    return world


def dials(world: NetworkWorld, *servers: str, known: bool = True) -> None:
    world.dials_from = lambda: servers if known else None
    world.start_server()


def its_network(world: NetworkWorld) -> NetworkView:
    (network,) = world.view.existing()
    return network


def runs(world: NetworkWorld, kind: NetworkRunKind) -> int:
    return sum(f"{kind}" in str(job.kind) for job in world.jobs.of_cluster(its_network(world).id))  # type: ignore[arg-type]


def test_a_network_is_made_with_its_server_let_in() -> None:
    """The first hour of 1c699c89: no firewall let the server in, and a new cluster stayed unseen for ever."""
    world = a_world(HERE)
    assert its_network(world).access.servers == (HERE,)
    assert world.cloud[its_network(world).id].servers == {HERE}
    assert runs(world, NetworkRunKind.ACCESS) == 0


def test_a_changed_address_changes_the_firewall_and_no_vm() -> None:
    world = a_world(HERE)
    before = world.clusters["orders"]
    dials(world, THERE)
    world.settle()
    assert world.cloud[its_network(world).id].servers == {THERE}
    assert runs(world, NetworkRunKind.ACCESS) == 1
    assert world.clusters["orders"] == before, "neither its spec nor its VMs are touched"
    assert world.waits("orders") == ()


def test_a_network_of_an_earlier_release_lets_the_server_in_at_the_next_tick() -> None:
    world = NetworkWorld()
    world.declare("orders")
    world.settle()
    assert its_network(world).access.servers == ()
    dials(world, HERE)
    world.settle()
    assert world.cloud[its_network(world).id].servers == {HERE}


def test_who_does_not_know_where_it_dials_from_shuts_nobody_out() -> None:
    world = a_world(HERE)
    dials(world, known=False)
    world.settle()
    assert world.cloud[its_network(world).id].servers == {HERE}
    assert runs(world, NetworkRunKind.ACCESS) == 0


def test_no_vm_waits_for_the_server_to_be_let_in() -> None:
    """What stands may be reached by another rule; a lost broker is replaced all the same."""
    world = a_world(HERE)
    dials(world, THERE)
    world.tick()
    assert world.waits("orders") == ()


def test_a_plan_names_the_server_that_is_let_in() -> None:
    world = a_world(HERE)
    dials(world, HERE, THERE)
    (told,) = world.service.planned(world.clusters["orders"])
    assert told == f"network default in aws/main/r1 lets in this server ({THERE}, port 9092); no VM is replaced"


def test_a_plan_warns_where_no_server_is_let_in_and_says_what_to_set() -> None:
    world = a_world(known=False)
    (told,) = world.service.planned(world.clusters["orders"])
    assert "network default in aws/main/r1 lets no server of Kedge in" in told
    assert "`clouds.server_addresses`" in told
    assert "`access.clients`" in told
    assert "port 9092" in told


@pytest.mark.parametrize(("servers", "word"), [((HERE,), f"this server ({HERE})"), (None, "does not know where")])
def test_a_plan_in_a_network_of_somebody_says_whom_to_let_in(servers: Collection[str] | None, word: str) -> None:
    world = a_world(HERE)
    told = _planned_elsewhere(world, servers)
    assert "is yours, Kedge opens no port in it" in told
    assert word in told
    assert "TCP port 9092" in told


def _planned_elsewhere(world: NetworkWorld, servers: Collection[str] | None) -> str:
    found = None if servers is None else tuple(servers)
    ports = replace(world.reconciler._ports, makes_network=lambda place: False, servers=lambda pool: found)
    (told,) = NetworkReconciler(ports, world.pool).planned(world.clusters["orders"])
    return told


def test_zookeeper_and_the_quorum_of_a_migration_are_dialled_too() -> None:
    world = NetworkWorld()
    dials(world, HERE)
    world.declare("orders", mode="zookeeper", port=9192)
    world.settle()
    assert its_network(world).access.ports.of_server == (2181, 9093, 9192)


def test_an_ensemble_that_speaks_tls_is_dialled_where_it_does_and_no_controller_is() -> None:
    world = NetworkWorld()
    dials(world, HERE)
    world.declare("orders", mode="zookeeper", tls=True)
    world.settle()
    ports = its_network(world).access.ports
    assert {2182, 9091} <= {*ports.of_server}
    assert {2182, 2888, 3888, 9091} <= {*ports.members}
    assert 9090 not in ports.members


def test_controllers_of_a_migration_with_tls_are_dialled_before_they_are_made() -> None:
    world = NetworkWorld()
    dials(world, HERE)
    world.declare("orders", mode="zookeeper", tls=True)
    world.settle()
    world.declare("orders", mode="kraft", tls=True)
    with_an_ensemble(world, "orders")
    world.settle()
    ports = its_network(world).access.ports
    assert {2182, 9090, 9091} <= {*ports.of_server}
    assert {2182, 2888, 3888, 9090, 9091} <= {*ports.members}


def with_an_ensemble(world: NetworkWorld, name: str) -> None:
    """Which holds the cluster's metadata, whatever the spec says by then."""
    view = world.clusters[name]
    founding = facts.QuorumFounded("kafka-id", "3.9", ())
    world.clusters[name] = replace(view, quorum=replace(view.quorum, founding=founding, protocol="3.9"))


def test_declared_addresses_win_and_an_address_is_a_network_of_one() -> None:
    cidrs = server_cidrs(("10.0.0.6", "10.0.1.0/28", "10.0.0.6"), "10.9.9.9", _no_way_out)
    assert cidrs(POOL) == (THERE, "10.0.1.0/28")


def test_without_any_the_way_out_and_the_address_agents_call_are_found() -> None:
    assert server_cidrs((), "10.0.0.6", lambda address: "10.0.0.5")(POOL) == (HERE, THERE)
    assert server_cidrs((), "kedge.example.com", lambda address: "10.0.0.5")(POOL) == (HERE,)
    assert server_cidrs((), "0.0.0.0", lambda address: "127.0.0.1")(POOL) is None  # nothing listens


def test_the_pool_is_what_the_way_out_leads_to() -> None:
    asked: list[str] = []

    def way_out(address: str) -> str:
        asked.append(address)
        return "10.0.0.5"

    server_cidrs((), "10.0.0.5", way_out)(POOL)
    assert asked == ["10.64.0.1"]


def test_a_server_on_loopback_is_found_nowhere_and_one_without_a_route_knows_nothing() -> None:
    assert server_cidrs((), "", lambda address: "10.0.0.5")(POOL) is None
    assert server_cidrs((), "10.0.0.5", _no_way_out)(POOL) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kedge.example.com", "not an IPv4 address or network"),
        ("fd00::5", "not an IPv4 address or network"),
        ("10.0.0.5/24", "not an IPv4 address or network"),
        ("10.0.0.0/8", "wider than a /16"),
        ("0.0.0.0/0", "wider than a /16"),
        ("127.0.0.1", "not an address a server dials other machines from"),
    ],
)
def test_what_is_no_address_of_a_server_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        server_network(text)


def _no_way_out(address: str) -> str:
    raise OSError("Network is unreachable")
