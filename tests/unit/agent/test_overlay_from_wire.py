"""What an agent takes of an overlay, and what it refuses: whatever would send traffic to somebody else."""

import json
from ipaddress import IPv6Address, ip_address

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.host_port import HostPort
from agent.overlay.addresses import prefix_of, service_address, vm_address
from agent.overlay.from_wire import MOST_PEERS, overlay_of
from agent.overlay.network import Link, Peer
from agent.wire import Document, OverlayDocument, OverlayLink, OverlayReport, Report
from tests.unit.agent.overlay_cases import LINKS, PREFIX, overlay, peer, public_key, with_overlay
from tests.unit.agent.wanted import boot_data, broker, document

OTHER = prefix_of("c2")


def judged(told: OverlayDocument) -> Accepted | DocumentRejected:
    return judge_document(with_overlay(told).model_dump_json().encode(), boot=boot_data(), current=None)


def refused(told: OverlayDocument) -> str:
    verdict = judged(told)
    assert isinstance(verdict, DocumentRejected)
    return verdict.reason


def test_what_the_server_says_of_an_overlay_becomes_what_the_agent_keeps() -> None:
    verdict = judged(overlay())
    assert isinstance(verdict, Accepted)
    assert verdict.document.overlay is not None
    made = overlay_of(verdict.document.overlay)
    assert (made.prefix, made.vm, made.mtu) == (PREFIX, vm_address(PREFIX, "brokers-a-0", 2), 1280)
    assert made.services == (service_address(PREFIX, "broker", 1000),)
    assert made.links == (Link("kedge-private", "private", 51820), Link("kedge-public", "public", 51821))
    assert made.peers[0] == Peer(
        "brokers-b-1.g1",
        public_key(1),
        vm_address(PREFIX, "brokers-b-1", 1),
        (service_address(PREFIX, "broker", 1001),),
        {"private": HostPort("10.0.0.1", 51820), "public": None},
    )


def test_the_vm_that_takes_a_nodes_place_and_the_one_before_are_peers_of_their_own() -> None:
    before = peer(1)
    after = peer(1, generation=2, vm=vm_address(PREFIX, before.node, 2), services=(), public_key=public_key(9))
    after = after.model_copy(update={"paths": {"public": "[2001:db8::9]:51821"}})
    told = overlay(peers=(before, after))
    assert isinstance(judged(told), Accepted)
    assert [one.node for one in overlay_of(told).peers] == ["brokers-b-1.g1", "brokers-b-1.g2"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (overlay(prefix=OTHER), "is not the prefix of this cluster"),
        (overlay(vm=vm_address(PREFIX, "brokers-a-0", 3)), "is not the address of brokers-a-0.g2"),
        (overlay(peers=(peer(1), peer(1))), "brokers-b-1.g1 is there twice"),
        (overlay(peers=(peer(1, node="brokers-a-0", generation=2),)), "brokers-a-0.g2 is there twice"),
        (
            overlay(peers=(peer(1), peer(2, services=peer(1).services))),
            "b::1001 is both of brokers-b-1.g1 and of brokers-b-2.g1: only one of them would be reached",
        ),
        (
            overlay(peers=(peer(1, services=overlay().services),)),
            "is both of brokers-a-0.g2 and of brokers-b-1",
        ),
        (
            overlay(peers=(peer(1), peer(2, services=(service_address(OTHER, "broker", 1002),)))),
            "of brokers-b-2.g1 is not within",
        ),
        (overlay(services=(service_address(OTHER, "broker", 1000),)), "of brokers-a-0.g2 is not within"),
        (overlay(services=(IPv6Address(f"{PREFIX[7]}%eth0"),)), "%eth0 of brokers-a-0.g2 is not within"),
        (overlay(peers=(peer(1, vm=PREFIX[8]),)), "peer brokers-b-1.g1: "),
        (overlay(peers=(peer(1), peer(2, public_key=public_key(1)))), "brokers-b-1.g1 and brokers-b-2.g1 have one key"),
        (overlay(peers=(peer(1, public_key="short"),)), "its public key is none of WireGuard's"),
        (overlay(peers=(peer(1, public_key=public_key(0)),)), "its public key is none of WireGuard's"),
        (overlay(peers=(peer(1, paths={"relay": None}),)), "there is no tunnel for path 'relay', only for private"),
        (
            overlay(peers=(peer(1), peer(2, paths=peer(1).paths))),
            "two peers would be called at 10.0.0.1:51820 by path 'private'",
        ),
        (overlay(links=()), "it has no tunnel"),
        (overlay(links=(OverlayLink(name="eth0", path="private", port=51820),)), "'eth0' is no name of a tunnel"),
        (overlay(links=(LINKS[0], LINKS[0])), "two tunnels have kedge-private"),
        (
            overlay(links=(LINKS[0], OverlayLink(name="kedge-public", path="public", port=51820))),
            "two tunnels have 51820",
        ),
        *(
            (overlay(links=(OverlayLink(name="kedge-private", path="private", port=port),)), f"has port {port}")
            for port in (80, 1023, 65_536, 51_819)
        ),
    ],
)
def test_what_would_send_traffic_to_somebody_else_is_refused_with_the_reason(told: OverlayDocument, words: str) -> None:
    reason = refused(told)
    assert reason.startswith("the overlay: ")
    assert words in reason
    assert reason.endswith("the last document stays in force")


@pytest.mark.parametrize(
    "at",
    [
        *("", "broker.example:51820", "10.0.0.1", "127.0.0.1:51820", "[::1]:51820", "0.0.0.0:51820"),
        *("[fe80::1]:51820", "224.0.0.1:51820", f"[{PREFIX[9]}]:51820"),
    ],
)
def test_a_peer_is_called_at_an_address_of_another_vm_outside_of_the_overlay(at: str) -> None:
    assert f"it cannot be called at {at!r} by path 'private': " in refused(
        overlay(peers=(peer(1, paths={"private": at}),))
    )


def test_one_key_spelled_in_two_ways_is_one_key() -> None:
    """The last letter before the padding has two bits that say nothing."""
    key = public_key(1)
    other = key.replace("E=", "F=")
    assert other != key
    assert "have one key" in refused(overlay(peers=(peer(1), peer(2, public_key=other))))


def test_a_document_of_200_nodes_is_taken_and_none_of_more() -> None:
    peers = tuple(peer(n) for n in range(1, MOST_PEERS + 1))
    assert isinstance(judged(overlay(peers=peers)), Accepted)
    assert "200 peers are more than 199" in refused(overlay(peers=(*peers, peer(200))))


@pytest.mark.parametrize(
    ("field", "wrong"), [("prefix", "fd00::/sixty"), ("vm", "10.0.0.1"), ("mtu", 1279), ("epoch", 0), ("state", "?")]
)
def test_what_is_no_address_or_number_is_refused_with_its_place(field: str, wrong: object) -> None:
    told = with_overlay(overlay()).model_dump(mode="json")
    told["overlay"][field] = wrong
    verdict = judge_document(json.dumps(told).encode(), boot=boot_data(), current=None)
    assert isinstance(verdict, DocumentRejected)
    assert "cannot be read" in verdict.reason
    assert f"('overlay', '{field}'" in verdict.reason


def test_spellings_of_an_address_are_one_document() -> None:
    raw = with_overlay(overlay()).model_dump(mode="json")
    raw["overlay"]["vm"] = ip_address(raw["overlay"]["vm"]).exploded
    verdict = judge_document(json.dumps(raw).encode(), boot=boot_data(), current=with_overlay(overlay()))
    assert verdict == Accepted(with_overlay(overlay()), changed=False)


def test_documents_and_reports_of_before_say_nothing_of_an_overlay() -> None:
    raw = document(broker()).model_dump(mode="json")
    del raw["overlay"]
    assert Document.model_validate(raw).overlay is None
    assert (raw["wire"], Report.model_fields["overlay"].default) == (1, None)
    assert OverlayReport().unable == ""
