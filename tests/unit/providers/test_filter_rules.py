"""The packet filter of a VM: closed but for Kafka, named by network, and metadata for root alone."""

import re

import pytest

from providers.networks import USUAL_PORTS, FirewallPorts, OverlayPorts
from providers.packet_filter import rules


def accepted(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "accept" in line and "dport" in line]


def test_members_reach_brokers_and_controllers_and_clients_brokers() -> None:
    text = rules(["10.20.8.0/21", "10.20.0.0/21"], ["10.8.0.0/16"])
    assert accepted(text)[1:] == [
        "tcp dport { 9092, 9093 } ip saddr { 10.20.0.0/21, 10.20.8.0/21 } accept",
        "tcp dport 9092 ip saddr { 10.8.0.0/16 } accept",
    ]


def test_other_ports_are_let_in_as_told_and_those_of_members_from_no_client() -> None:
    text = rules(["10.20.0.0/20"], ["10.8.0.0/16"], FirewallPorts((9092, 9192), (2181, 2888, 3888, 9093)))
    assert accepted(text)[1:] == [
        "tcp dport { 2181, 2888, 3888, 9092, 9093, 9192 } ip saddr { 10.20.0.0/20 } accept",
        "tcp dport { 9092, 9192 } ip saddr { 10.8.0.0/16 } accept",
    ]


def test_the_server_reaches_brokers_and_of_an_ensemble_what_it_dials() -> None:
    text = rules(["10.20.0.0/20"], [], FirewallPorts(), ["10.0.0.5/32"])
    assert accepted(text)[1:] == [
        "tcp dport { 9092, 9093 } ip saddr { 10.20.0.0/20 } accept",
        "tcp dport 9092 ip saddr { 10.0.0.5/32 } accept",
    ]
    text = rules(["10.20.0.0/20"], [], FirewallPorts((9192,), (2181, 2888, 3888, 9093)), ["10.0.0.6/32", "10.0.0.5/32"])
    assert accepted(text)[2:] == ["tcp dport { 2181, 9093, 9192 } ip saddr { 10.0.0.5/32, 10.0.0.6/32 } accept"]


def test_a_port_of_its_own_clients_is_open_to_them_alone() -> None:
    ports = FirewallPorts((9092, 9094, 9095, 9096), (9093,))
    own = ((9094, ("10.9.0.0/16", "10.8.0.0/16")), (9095, ()))
    text = rules(["10.20.0.0/20"], ["10.8.0.0/16"], ports, ["10.0.0.5/32"], own)
    assert accepted(text)[2:] == [
        "tcp dport { 9092, 9096 } ip saddr { 10.8.0.0/16 } accept",
        "tcp dport 9094 ip saddr { 10.8.0.0/16, 10.9.0.0/16 } accept",
        "tcp dport { 9092, 9094, 9095, 9096 } ip saddr { 10.0.0.5/32 } accept",
    ]
    every = tuple((port, ("10.9.0.0/16",)) for port in ports.brokers)
    assert "10.8.0.0/16" not in rules(["10.20.0.0/20"], ["10.8.0.0/16"], ports, [], every)


def test_without_a_server_the_rules_are_those_vms_were_born_with() -> None:
    """The text is frozen in boot data: another byte would be another VM."""
    assert rules(["10.20.0.0/20"], ["10.8.0.0/16"], FirewallPorts(), []) == rules(["10.20.0.0/20"], ["10.8.0.0/16"])


def test_tunnels_are_let_in_at_their_ports_alone_and_what_comes_out_of_them_at_those_of_kafka() -> None:
    tunnels = OverlayPorts((51820, 51822), (51821, 51823))
    text = rules(["10.20.0.0/20"], [], USUAL_PORTS, [], (), tunnels)
    assert accepted(text)[2:] == [
        "udp dport { 51820, 51822 } ip saddr { 10.20.0.0/20 } accept",
        "udp dport { 51821, 51823 } accept",
        'iifname "kedge-*" ip6 saddr fd00::/8 tcp dport { 9092, 9093 } accept',
        'iifname "kedge-*" ip6 saddr fd00::/8 udp dport 51819 accept',
    ]
    private = rules(["10.20.0.0/20"], [], USUAL_PORTS, [], (), OverlayPorts((51820, 51822)))
    assert "51821" not in private
    assert rules(["10.20.0.0/20"], [], USUAL_PORTS, [], (), OverlayPorts()) == rules(["10.20.0.0/20"])


def test_nobody_else_gets_in_and_nobody_logs_in() -> None:
    text = rules(["10.20.0.0/20"])
    assert text.count("policy drop") == 2
    assert re.findall(r"dport[^\n]*\b22\b", text) == []
    assert "9092 ip saddr" not in text


def test_boot_data_of_the_metadata_service_is_for_root_alone() -> None:
    assert "ip daddr 169.254.169.254 meta skuid != 0 reject" in rules(["10.20.0.0/20"])


def test_it_is_the_same_whatever_the_order() -> None:
    assert rules(["10.1.0.0/16", "10.0.0.0/16"]) == rules(["10.0.0.0/16", "10.1.0.0/16", "10.0.0.0/16"])


def test_braces_are_in_pairs() -> None:
    text = rules(["10.20.0.0/20"], ["10.8.0.0/16"])
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("wrong", [["everybody"], ["10.0.0.1/8"], ["10.0.0.0/8; flush"], []])
def test_what_is_no_network_is_refused(wrong: list[str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        rules(wrong)
