"""Rules about networks and clients: each refusal names the place and a way out."""

from ipaddress import IPv4Network

import pytest

from events.spec.network_rules import client_problems, network_problems, pool_problems
from events.spec.positions import NOWHERE
from events.spec.problems import Problem
from events.spec.security import Authentication, Listener
from tests.builders import a_document


def told(clients: tuple[str, ...]) -> list[Problem]:
    spec = a_document().spec
    access = spec.access.model_copy(update={"clients": clients})
    return list(client_problems(access, spec.listeners, NOWHERE))


def test_networks_of_clients_are_accepted() -> None:
    assert told(("192.168.0.0/16", "10.8.0.7/32")) == []


@pytest.mark.parametrize(
    ("clients", "code", "words"),
    [
        (("0.0.0.0/0",), "KEDGE-SPEC-062", "lets everybody in"),
        (("128.0.0.0/1",), "KEDGE-SPEC-062", "lets everybody in"),
        (("10.8.0.300/24",), "KEDGE-SPEC-061", "is not a network"),
        (("10.8.0.0/33",), "KEDGE-SPEC-061", "is not a network"),
        (("2001:db8::/32",), "KEDGE-SPEC-061", "is of IPv6, and brokers listen at their private IPv4 addresses alone"),
        (("10.8.0.7/24",), "KEDGE-SPEC-061", "bits beyond its length"),
        (("10.8.0.0/24", "10.8.0.0/24"), "KEDGE-SPEC-036", "listed twice"),
    ],
)
def test_what_a_firewall_would_misread_is_refused(clients: tuple[str, ...], code: str, words: str) -> None:
    (problem,) = told(clients)
    assert problem.code == code
    assert words in problem.message
    assert problem.fix


def of_listeners(*clients: tuple[str, ...] | None, asks: bool = False, shared: tuple[str, ...] = ()) -> list[Problem]:
    spec = a_document().spec
    access = spec.access.model_copy(update={"clients": shared})
    asked = Authentication(type="scram-sha-512" if asks else "none")
    plain = (Listener(name=f"L{n}", port=9094 + n, authentication=asked) for n in range(len(clients)))
    listeners = (one.model_copy(update={"clients": c}) for one, c in zip(plain, clients, strict=True))
    return list(client_problems(access, tuple(listeners), NOWHERE))


@pytest.mark.parametrize(
    ("clients", "code", "words"),
    [
        (("0.0.0.0/0",), "KEDGE-SPEC-062", "lets everybody in, and listener `L1` asks nobody"),
        (("10.8.0.300/24",), "KEDGE-SPEC-061", "is not a network"),
        (("2001:db8::/32",), "KEDGE-SPEC-061", "is of IPv6, and brokers listen at their private IPv4 addresses alone"),
        (("10.8.0.7/24",), "KEDGE-SPEC-061", "bits beyond its length"),
        (("10.8.0.0/24", "10.8.0.0/24"), "KEDGE-SPEC-036", "listed twice"),
    ],
)
def test_networks_of_a_single_listener_are_refused_alike_at_their_place(
    clients: tuple[str, ...], code: str, words: str
) -> None:
    (problem,) = of_listeners(("10.9.0.0/16",), clients)
    assert (problem.code, problem.path) == (code, f"spec.listeners[1].clients[{len(clients) - 1}]")
    assert words in problem.message


def test_everybody_may_be_let_in_where_clients_are_asked_and_where_the_open_listener_has_its_own() -> None:
    assert of_listeners(("0.0.0.0/0",), (), None, asks=True) == []
    assert of_listeners(("10.9.0.0/16",), shared=("0.0.0.0/0",)) == []
    (problem,) = of_listeners(("10.9.0.0/16",), None, shared=("0.0.0.0/0",))
    assert "listener `L1` asks nobody" in problem.message


def test_clients_of_a_listener_from_where_networks_get_their_addresses_are_refused() -> None:
    document = a_document()
    listener = document.spec.listeners[0].model_copy(update={"clients": ("10.0.0.0/8",)})
    asked = document.model_copy(update={"spec": document.spec.model_copy(update={"listeners": (listener,)})})
    (problem,) = pool_problems(asked, IPv4Network("10.64.0.0/10"), NOWHERE)
    assert problem.path == "spec.listeners[0].clients[0]"


def test_clients_from_where_networks_get_their_addresses_are_refused() -> None:
    document = a_document()
    access = document.spec.access.model_copy(update={"clients": ("10.0.0.0/8", "192.168.0.0/16")})
    asked = document.model_copy(update={"spec": document.spec.model_copy(update={"access": access})})
    (problem,) = pool_problems(asked, IPv4Network("10.64.0.0/10"), NOWHERE)
    assert "overlaps 10.64.0.0/10" in problem.message


def test_pools_of_one_place_are_in_one_network() -> None:
    controllers, brokers = a_document().spec.pools
    other = brokers.model_copy(update={"place": brokers.place.model_copy(update={"network": "second"})})
    assert list(network_problems((controllers, brokers), NOWHERE)) == []
    (problem,) = network_problems((controllers, other), NOWHERE)
    assert problem.code == "KEDGE-SPEC-060"
    elsewhere = other.model_copy(update={"place": other.place.model_copy(update={"region": "local-2"})})
    assert list(network_problems((controllers, elsewhere), NOWHERE)) == []
