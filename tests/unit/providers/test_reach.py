"""Whether brokers are reached: what each answer means, told by cluster, with what a person does about it."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest

from providers.base import CloudInstance, InstanceState
from providers.reach import MOST, Endpoint, ReachAnswer, in_words, knock, of_listing, reached

BROKERS = tuple(Endpoint("orders", f"brokers-a-{n}", f"10.64.0.{n + 5}", 9092) for n in range(3))


def told(answers: Mapping[str, ReachAnswer], *, known: bool = True) -> tuple[bool | None, str, str]:
    endpoints = [Endpoint("orders", e.node, e.address, e.port, True if known else None) for e in BROKERS]
    (found,) = reached(endpoints, lambda address, port: answers.get(address, ReachAnswer.OPEN))
    return in_words(found)


def test_all_that_answer_are_well() -> None:
    assert told({}) == (True, "all 3 answer at their ports", "")


def test_silence_is_a_firewall_and_says_what_to_set() -> None:
    well, word, what_next = told({"10.64.0.6": ReachAnswer.SILENT})
    assert well is False
    assert word == "nobody answered within 3 s: brokers-a-1 at 10.64.0.6:9092; 2 of 3 did"
    assert "server_addresses" in what_next


def test_an_address_without_a_route_is_told_as_that() -> None:
    well, word, _ = told(dict.fromkeys((e.address for e in BROKERS), ReachAnswer.NO_ROUTE))
    assert (well, word.partition(" within")[0]) == (False, "there is no way to them")


def test_a_refused_connection_is_no_firewall() -> None:
    well, word, what_next = told({"10.64.0.5": ReachAnswer.REFUSED})
    assert (well, "nothing listens there: brokers-a-0" in word) == (False, True)
    assert "no firewall is in the way" in what_next


@pytest.mark.parametrize(("refuse", "well"), [(1, True), (3, None)])
def test_of_vms_nobody_knows_the_service_of_a_refusal_is_not_wrong(refuse: int, well: bool | None) -> None:
    assert told({e.address: ReachAnswer.REFUSED for e in BROKERS[:refuse]}, known=False)[0] is well


def test_vms_that_run_are_tried_by_their_tags() -> None:
    states = (InstanceState.RUNNING, InstanceState.STOPPING, InstanceState.RUNNING)
    addresses = ("10.64.0.5", "10.64.0.6", None)
    there = [
        CloudInstance(f"i-{n}", "uid", f"b-{n}", 1, "x", "a", state, address, cluster_name="orders")
        for n, (state, address) in enumerate(zip(states, addresses, strict=True))
    ]
    assert of_listing(there) == (Endpoint("orders", "b-0.g1", "10.64.0.5", 9092, None),)


def test_each_cluster_is_told_by_itself_and_many_are_not_all_tried() -> None:
    many = [Endpoint("orders", f"b-{n}", f"10.64.1.{n}", 9092) for n in range(MOST + 20)]
    asked: list[str] = []

    def ask(address: str, _: int) -> ReachAnswer:
        asked.append(address)
        return ReachAnswer.OPEN

    found = list(reached([*many, Endpoint("bills", "b-0", "10.64.0.9", 9092)], ask))
    assert [one.cluster for one in found] == ["bills", "orders"]
    assert len(asked) == MOST


def test_a_real_port_is_open_or_refused() -> None:
    with _listening() as port:
        assert knock("127.0.0.1", port, 2.0) is ReachAnswer.OPEN
    assert knock("127.0.0.1", port, 2.0) is ReachAnswer.REFUSED


@contextmanager
def _listening() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as door:
        yield door.getsockname()[1]
