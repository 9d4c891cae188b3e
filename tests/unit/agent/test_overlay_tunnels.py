"""What is to be done to have an overlay: only what differs, and nothing a second time."""

from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network
from typing import Any

import pytest

from agent.host_port import HostPort
from agent.overlay.network import Link, Overlay, Peer
from agent.overlay.tunnels import (
    LinkSeen,
    OverlaySeen,
    PeerSeen,
    Route,
    ToolCommand,
    configuration,
    differences,
    removal,
    routed,
    taken,
)

PREFIX = IPv6Network("fd00:1:2:3::/64")
KEY = "q" * 43 + "="
LINKS = (Link("kp0", "private", 51820), Link("kx0", "public", 51821))


def at(text: str) -> IPv6Address:
    return IPv6Address(f"fd00:1:2:3:{text}")


B = Peer("b.1", "B" * 43 + "=", at("a::b"), (at("b::1001"), at("c::101")),
         {"private": HostPort("10.0.0.2", 51820), "public": HostPort("192.0.2.2", 51821)})  # fmt: skip
C = Peer("c.1", "C" * 43 + "=", at("a::c"), (), {"public": None})
OVERLAY = Overlay(PREFIX, at("a::a"), (at("b::1000"),), LINKS, (B, C))
CHOSEN = {"b.1": "private", "c.1": "public"}


def there(overlay: Overlay = OVERLAY, /, **chosen: str) -> OverlaySeen:
    """A kernel that has all of it."""
    links = {
        link.name: LinkSeen(
            True,
            overlay.mtu,
            KEY,
            link.port,
            {
                p.public_key: PeerSeen(p.paths[link.path], frozenset(f"{a}/128" for a in p.addresses), 25)
                for p in overlay.peers
                if link.path in p.paths
            },
        )
        for link in overlay.links
    }
    routes = {Route(PREFIX, 1001, "kp0"), Route(PREFIX, 1002, "kx0"), Route(PREFIX, 5000)}
    for peer in overlay.peers:
        path = chosen.get(peer.node, CHOSEN.get(peer.node, "private"))
        routes |= {Route(IPv6Network(a), 100, overlay.link_of(path).name) for a in peer.addresses}
    return OverlaySeen(links, frozenset({overlay.vm, *overlay.services}), frozenset(routes))


def words(*commands: ToolCommand) -> list[str]:
    return [" ".join(command.words) for command in commands]


def todo(overlay: Overlay, seen: OverlaySeen, **chosen: str) -> list[str]:
    return words(*differences(overlay, KEY, {**CHOSEN, **chosen}, seen))


def test_where_all_is_as_wanted_nothing_is_done() -> None:
    assert todo(OVERLAY, there()) == []


def test_all_of_it_on_a_new_vm() -> None:
    bare = OverlaySeen({link.name: LinkSeen(False, 1420) for link in LINKS}, frozenset(), frozenset())
    peer_routes = [f"ip -6 route replace fd00:1:2:3:{a}/128 dev kp0 metric 100 src fd00:1:2:3:a::a mtu 1280"
                   for a in ("a::b", "b::1001", "c::101")]  # fmt: skip
    assert todo(OVERLAY, bare) == [
        "wg syncconf kp0",
        "ip link set kp0 mtu 1280 up",
        "wg syncconf kx0",
        "ip link set kx0 mtu 1280 up",
        "ip address add fd00:1:2:3:a::a/128 dev lo nodad",
        "ip address add fd00:1:2:3:b::1000/128 dev lo nodad",
        "ip -6 route replace unreachable fd00:1:2:3::/64 dev lo metric 5000",
        "ip -6 route replace fd00:1:2:3::/64 dev kp0 metric 1001 src fd00:1:2:3:a::a mtu 1280",
        "ip -6 route replace fd00:1:2:3::/64 dev kx0 metric 1002 src fd00:1:2:3:a::a mtu 1280",
        *peer_routes,
        "ip -6 route replace fd00:1:2:3:a::c/128 dev kx0 metric 100 src fd00:1:2:3:a::a mtu 1280",
    ]


def test_the_configuration_of_a_tunnel_names_where_a_peer_is_called_and_leaves_one_behind_nat_to_call() -> None:
    assert configuration(OVERLAY, LINKS[1], KEY) == (
        f"[Interface]\nPrivateKey = {KEY}\nListenPort = 51821\n"
        f"[Peer]\nPublicKey = {B.public_key}\n"
        "AllowedIPs = fd00:1:2:3:a::b/128, fd00:1:2:3:b::1001/128, fd00:1:2:3:c::101/128\n"
        "Endpoint = 192.0.2.2:51821\nPersistentKeepalive = 25\n"
        f"[Peer]\nPublicKey = {C.public_key}\nAllowedIPs = fd00:1:2:3:a::c/128\n"
    )


def test_a_peer_that_comes_changes_the_tunnels_it_is_in_and_no_route_of_another() -> None:
    d = Peer("d.1", "D" * 43 + "=", at("a::d"), (), {"public": HostPort("fd99::4", 51821)})
    more = replace(OVERLAY, peers=(B, C, d))
    assert todo(more, there(), **{"d.1": "public"}) == [
        "wg syncconf kx0",
        "ip -6 route replace fd00:1:2:3:a::d/128 dev kx0 metric 100 src fd00:1:2:3:a::a mtu 1280",
    ]
    assert "Endpoint = [fd99::4]:51821\n" in configuration(more, LINKS[1], KEY)


def test_a_peer_that_goes_takes_its_routes_along() -> None:
    assert todo(replace(OVERLAY, peers=(B,)), there()) == [
        "wg syncconf kx0",
        "ip -6 route del fd00:1:2:3:a::c/128 metric 100",
    ]


def test_an_address_that_moves_to_another_peer_changes_its_route_in_one_step() -> None:
    moved = replace(OVERLAY, peers=(replace(B, services=(at("b::1001"),)), replace(C, services=(at("c::101"),))))
    assert todo(moved, there()) == [
        "wg syncconf kp0",
        "wg syncconf kx0",
        "ip -6 route replace fd00:1:2:3:c::101/128 dev kx0 metric 100 src fd00:1:2:3:a::a mtu 1280",
    ]


@pytest.mark.parametrize(
    ("name", "change", "is_done"),
    [
        ("kp0", {"port": 1}, "wg syncconf kp0"),
        ("kp0", {"key": "x" * 43 + "="}, "wg syncconf kp0"),
        ("kp0", {"peers": {}}, "wg syncconf kp0"),
        ("kx0", {"is_up": False}, "ip link set kx0 mtu 1280 up"),
        ("kx0", {"mtu": 1420}, "ip link set kx0 mtu 1280 up"),
    ],
)
def test_what_somebody_changed_is_put_right_and_nothing_else(name: str, change: dict[str, Any], is_done: str) -> None:
    seen = there()
    links = {**seen.links, name: replace(seen.links[name], **change)}
    assert todo(OVERLAY, replace(seen, links=links)) == [is_done]


def test_where_a_peer_behind_nat_is_at_the_moment_is_no_difference() -> None:
    seen = there()
    behind = replace(seen.links["kx0"].peers[C.public_key], endpoint=HostPort("192.0.2.9", 4711), keepalive_s=0)
    link = replace(seen.links["kx0"], peers={**seen.links["kx0"].peers, C.public_key: behind})
    assert todo(OVERLAY, replace(seen, links={**seen.links, "kx0": link})) == []
    called = replace(seen.links["kx0"].peers[B.public_key], endpoint=HostPort("192.0.2.9", 4711))
    link = replace(seen.links["kx0"], peers={**seen.links["kx0"].peers, B.public_key: called})
    assert todo(OVERLAY, replace(seen, links={**seen.links, "kx0": link})) == ["wg syncconf kx0"]


def test_an_own_service_that_leaves_takes_its_address_along() -> None:
    assert todo(replace(OVERLAY, services=()), there()) == ["ip address del fd00:1:2:3:b::1000/128 dev lo"]


def test_another_path_is_taken_by_each_address_of_the_peer() -> None:
    commands = words(*taken(OVERLAY, B, "public"))
    assert commands == [
        f"ip -6 route replace fd00:1:2:3:{a}/128 dev kx0 metric 100 src fd00:1:2:3:a::a mtu 1280"
        for a in ("a::b", "b::1001", "c::101")
    ]
    assert todo(OVERLAY, there(), **{"b.1": "public"}) == commands


def test_an_agent_that_begins_reads_the_paths_in_use_off_the_kernel() -> None:
    assert routed(OVERLAY, there(**{"b.1": "public"})) == {"b.1": "public", "c.1": "public"}
    assert routed(OVERLAY, replace(there(), routes=frozenset())) == {"b.1": "", "c.1": ""}


def test_no_command_shows_the_key() -> None:
    bare = OverlaySeen({link.name: LinkSeen(False, 1420) for link in LINKS}, frozenset(), frozenset())
    assert KEY not in repr(differences(OVERLAY, KEY, CHOSEN, bare))
    assert KEY not in repr(there())


def test_all_there_is_is_taken_away_routes_to_peers_first_and_tunnels_last() -> None:
    done = words(*removal(there(replace(OVERLAY, peers=(C,)))))
    assert done == [
        f"ip -6 route del {C.vm}/128 metric 100",
        f"ip -6 route del {PREFIX} metric 1001",
        f"ip -6 route del {PREFIX} metric 1002",
        f"ip -6 route del {PREFIX} metric 5000",
        f"ip address del {at('a::a')}/128 dev lo",
        f"ip address del {at('b::1000')}/128 dev lo",
        "ip link del kp0",
        "ip link del kx0",
    ]
    assert removal(OverlaySeen({}, frozenset(), frozenset())) == ()
