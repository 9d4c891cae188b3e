"""Probes over a device that is always there: what comes back, what is lost, and what is none of ours."""

import socket
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv6Address, IPv6Network

import pytest

from agent.host_port import HostPort
from agent.overlay.network import Link, Overlay, Peer
from agent.overlay.probing import ProbeOutcome, Prober

LOOPBACK = IPv6Address("::1")
PEER = Peer("b.1", "B" * 43 + "=", LOOPBACK, (), {"private": HostPort("10.0.0.2", 51820), "public": None})


def overlay(*peers: Peer) -> Overlay:
    return Overlay(IPv6Network("::/64"), LOOPBACK, (), (Link("lo", "private", 51820),), peers)


class Watch:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def port() -> int:
    """Nobody else's: tests run beside each other."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as free:
        try:
            free.bind((str(LOOPBACK), 0))
        except OSError as error:
            pytest.skip(f"does not apply: this machine has no IPv6 on its loopback device: {error}")
        return int(free.getsockname()[1])


@pytest.fixture
def prober(watch: Watch, port: int) -> Iterator[Prober]:
    with closing(Prober(overlay(PEER), interval_s=0.5, monotonic=watch, port=port)) as found:
        yield found


def outcomes(prober: Prober, turns: int = 4) -> list[ProbeOutcome]:
    """Each turn waits for what the kernel hands on at once."""
    return [outcome for _ in range(turns) for outcome in prober.turn(0.2)]


def test_a_peer_is_probed_by_the_tunnels_it_is_in_and_its_answer_is_timed(prober: Prober, watch: Watch) -> None:
    """The peer is this prober itself, which answers."""
    assert outcomes(prober) == [ProbeOutcome("b.1", "private", 0.0)]
    assert outcomes(prober) == [], "the next one is not due yet"
    watch.now_s += 0.5
    assert outcomes(prober) == [ProbeOutcome("b.1", "private", 0.0)]


def test_what_does_not_come_back_before_the_next_one_is_lost(watch: Watch, port: int) -> None:
    away = Peer("c.1", "C" * 43 + "=", IPv6Address("100::1"), (), {"private": None})
    with closing(Prober(overlay(away), interval_s=0.5, monotonic=watch, port=port)) as prober:
        assert outcomes(prober, 1) == []
        watch.now_s += 0.6
        assert outcomes(prober, 1) == [ProbeOutcome("c.1", "private", None)]


def test_messages_of_others_are_passed_over(prober: Prober, port: int) -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as other:
        for message in (b"", b"x", b"kdg0\x01" + bytes(16), b"else\x00" + bytes(16), b"kdg0\x07" + bytes(16)):
            other.sendto(message, (str(LOOPBACK), port))
    assert outcomes(prober) == [ProbeOutcome("b.1", "private", 0.0)]
