"""What each VM is told of its cluster's overlay: addresses that follow services, and how others are reached."""

from base64 import b64encode
from dataclasses import replace
from ipaddress import IPv6Address
from typing import Any

import pytest

from agent.documents import Accepted, judge_document
from agent.overlay.addresses import prefix_of, service_address, vm_address
from agent.wire import OVERLAY_WIRE_VERSION, Document, OverlayDocument, OverlayLink
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.overlay import OverlayNetwork, address_holders, overlay_part
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView, PublicView
from events import facts
from providers.base import Place
from tests.builders import NODES, NOW, a_view, an_instance
from tests.unit.agent.wanted import boot_data

PREFIX = prefix_of("c0ffee")
AT = {node: f"10.0.0.{n + 1}" for n, node in enumerate(NODES)}


def a_key(number: int) -> str:
    return b64encode(bytes([number]) * 32).decode()


def a_network(*others: InstanceView, **changes: Any) -> ClusterView:
    """The cluster of the builders, each VM at an address and with a key; `others` have both, too."""
    there = (*(an_instance(node, address=AT[node]) for node in NODES), *others)
    keys = {one.key: {1: a_key(n + 1)} for n, one in enumerate(there)}
    return a_view(*there, **{"overlay_keys": keys, **changes})


def part_of(view: ClusterView, key: str = "brokers-a-0.g1", network: OverlayNetwork | None = None) -> OverlayDocument:
    return overlay_part(view, view.instances[key], network or OverlayNetwork())


def judged(view: ClusterView, key: str) -> object:
    instance = view.instances[key]
    node, generation = instance.node, instance.planned.generation
    document = Document(
        wire=OVERLAY_WIRE_VERSION,
        epoch=1,
        cluster_uid=view.uid,
        node=node,
        generation=generation,
        services=(),
        overlay=part_of(view, key),
    )
    boot = boot_data().model_copy(update={"cluster_uid": view.uid, "node": node, "generation": generation})
    return judge_document(document.model_dump_json().encode(), boot=boot, current=None)


def test_a_vm_is_told_its_addresses_its_tunnels_and_all_others_whose_key_is_known() -> None:
    part = part_of(a_network(overlay_keys={f"{node}.g1": {1: a_key(n + 1)} for n, node in enumerate(NODES[:5])}))
    assert (part.state, part.prefix, part.epoch) == ("on", PREFIX, 1)
    assert part.vm == vm_address(PREFIX, "brokers-a-0", 1)
    assert part.services == (service_address(PREFIX, "broker", 1000),)
    assert part.links == (
        OverlayLink(name="kedge-private", path="private", port=51820),
        OverlayLink(name="kedge-public", path="public", port=51821),
    )
    assert [peer.node for peer in part.peers] == ["brokers-b-0", "brokers-c-0", "controllers-a-0", "controllers-b-0"]
    b, *_, controller = part.peers
    assert (b.public_key, b.vm) == (a_key(2), vm_address(PREFIX, "brokers-b-0", 1))
    assert b.paths == {"private": "10.0.0.2:51820"}
    assert controller.services == (service_address(PREFIX, "controller", 101),)


def test_who_has_not_told_a_key_is_told_of_the_overlay_so_that_it_makes_one() -> None:
    part = part_of(a_network(overlay_keys={}))
    assert part.peers == ()
    assert part.services == (service_address(PREFIX, "broker", 1000),)


@pytest.mark.parametrize("phase", Phase)
def test_every_agent_takes_what_it_is_told_whatever_a_handover_has_come_to(phase: Phase) -> None:
    old = an_instance("controllers-a-0", phase=phase, address="10.0.0.4")
    heir = an_instance("controllers-a-0", 2, Phase.LAUNCHED, address="10.0.0.9", bound=phase is Phase.RELEASED)
    view = a_network(old, heir)
    for instance in view.alive():
        verdict = judged(view, instance.key)
        assert isinstance(verdict, Accepted), verdict


def test_an_address_follows_its_service_once_the_one_before_has_given_all_away() -> None:
    address, holders = service_address(PREFIX, "controller", 100), []
    for phase, is_bound in [
        (Phase.JOINED, False),
        (Phase.FENCING, False),
        (Phase.FENCED, True),  # told too early: the older one may still run
        (Phase.RELEASED, False),
        (Phase.RELEASED, True),
    ]:
        view = a_network(
            an_instance("controllers-a-0", phase=phase),
            an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=is_bound),
        )
        holders.append(address_holders(view).get(address, ""))
    assert holders == [*["controllers-a-0.g1"] * 3, "", "controllers-a-0.g2"]


def test_a_server_of_an_ensemble_beside_a_broker_has_its_own_address() -> None:
    member = facts.PlannedMember(3, "directory", 256)
    view = a_network(an_instance("brokers-a-0", address=AT["brokers-a-0"], member=member))
    assert part_of(view).services == (
        service_address(PREFIX, "broker", 1000),
        service_address(PREFIX, "zookeeper", 3),
    )


@pytest.mark.parametrize("phase", [Phase.REQUESTED, Phase.RELEASED, Phase.RETIRING, Phase.RETIRED])
def test_who_is_not_there_yet_or_stopped_for_good_is_nobodys_peer(phase: Phase) -> None:
    view = a_network(an_instance("brokers-b-0", phase=phase, address="10.0.0.2"))
    assert "brokers-b-0" not in [peer.node for peer in part_of(view).peers]


def test_a_stolen_vm_is_nobodys_peer_from_the_moment_it_is_said() -> None:
    view = a_network(revoked={"brokers-b-0.g1": NOW})
    assert "brokers-b-0" not in [peer.node for peer in part_of(view).peers]


def test_a_vm_that_seems_lost_stays_a_peer() -> None:
    """Unknown is not dead."""
    view = a_network(an_instance("brokers-b-0", address="10.0.0.2", lost_at=NOW))
    assert "brokers-b-0" in [peer.node for peer in part_of(view).peers]


def paths_between(view: ClusterView, one: str, other: str) -> dict[str, str | None]:
    peers = part_of(view, f"{one}.g1").peers
    return next(dict(peer.paths) for peer in peers if peer.node == other)


def two_clouds(**public: tuple[str, ...]) -> ClusterView:
    """Brokers of rack b are in another network, and their pool is in no spec any more. `public`: addresses by rack."""
    there = Place("aws", "eu-central-1", "default", "b")
    away = an_instance("brokers-b-0", address="10.0.0.2", pool="moved")
    also = an_instance("brokers-c-0", address="10.0.0.3", pool="moved")
    here = an_instance("brokers-a-0", address=AT["brokers-a-0"])
    called = [
        replace(one, public=PublicView(addresses=public.get(one.planned.rack, ())))
        for one in (here, replace(away, place=there), replace(also, place=there))
    ]
    return a_network(*called)


def test_networks_apart_are_reached_where_one_side_has_a_public_address_and_the_other_calls() -> None:
    view = two_clouds(b=("198.51.100.2",))
    assert paths_between(view, "brokers-a-0", "brokers-b-0") == {"public": "198.51.100.2:51821"}
    assert paths_between(view, "brokers-b-0", "brokers-a-0") == {"public": None}
    assert paths_between(view, "brokers-a-0", "brokers-c-0") == {}, "two behind NAT: nothing reaches there"
    assert paths_between(view, "brokers-b-0", "brokers-c-0") == {"private": "10.0.0.3:51820", "public": None}


def test_an_address_of_version_6_stands_in_brackets() -> None:
    view = two_clouds(a=("2001:db8::1",), b=("2001:db8::2",))
    assert paths_between(view, "brokers-a-0", "brokers-b-0") == {"public": "[2001:db8::2]:51821"}
    assert paths_between(view, "brokers-b-0", "brokers-a-0") == {"public": "[2001:db8::1]:51821"}


def test_who_has_no_address_of_version_6_calls_none() -> None:
    view = two_clouds(b=("2001:db8::2",))
    assert paths_between(view, "brokers-a-0", "brokers-b-0") == {}
    both = two_clouds(a=("2001:db8::1",), b=("198.51.100.2", "2001:db8::2"))
    assert paths_between(both, "brokers-a-0", "brokers-b-0") == {"public": "198.51.100.2:51821"}, "version 4 first"


def test_the_next_epoch_has_tunnels_of_its_own_beside_and_peers_by_the_new_keys() -> None:
    view = a_network(overlay_keys={"brokers-b-0.g1": {1: a_key(1), 2: a_key(9)}, "brokers-c-0.g1": {1: a_key(2)}})
    first, second = part_of(view), part_of(view, network=OverlayNetwork(epoch=2))
    assert {link.name for link in first.links}.isdisjoint(link.name for link in second.links)
    assert {link.port for link in (*first.links, *second.links)} == {51820, 51821, 51822, 51823}
    assert [(peer.node, peer.public_key, peer.paths) for peer in second.peers] == [
        ("brokers-b-0", a_key(9), {"private": "10.0.0.2:51822"})
    ]


def test_each_address_is_one_vms_in_all_documents_together() -> None:
    view = a_network(an_instance("brokers-a-1", address="10.0.0.9"))
    holder_of: dict[IPv6Address, str] = {}
    for instance in view.alive():
        part = part_of(view, instance.key)
        own = {instance.key: (part.vm, *part.services)}
        for key, addresses in {**own, **{f"{p.node}.g{p.generation}": (p.vm, *p.services) for p in part.peers}}.items():
            for address in addresses:
                assert holder_of.setdefault(address, key) == key
    assert len(holder_of) == 2 * 7
