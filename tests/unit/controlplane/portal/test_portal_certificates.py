"""Certificates of a cluster on a page, `/certificates`: both CAs, each node, what is served, a CA being replaced."""

from datetime import timedelta

import pytest

from agent.wire_tls import CertificateReport, ServedCertificate
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.presenters.certificate_text import next_text
from controlplane.api.schemas import certificates as api
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.storage.latest_values import LatestValue, Subject
from events import facts
from tests.builders import a_report
from tests.unit.controlplane.api.portal_house import START, House, broker
from tests.unit.controlplane.api.test_node_certificates import ask, tls_vm
from tests.unit.controlplane.portal.test_portal_kafka_users import words

VIEWER = Binding("", Role.VIEWER, "*")
PAGE = "/clusters/orders/certificates"


@pytest.fixture
def house() -> House:
    """A broker was given a certificate; nobody has said what it shows."""
    house = House()
    assert ask(house, tls_vm(house)).status_code == 200
    return house


def told(house: House, who: str = "ada") -> str:
    answer = house.browser(who, VIEWER).get(PAGE)
    assert answer.status_code == 200
    assert "PRIVATE" not in answer.text
    return words(answer.text)


def serial_of(house: House) -> str:
    return house.view().vms.certificates[broker().key].serial


def says(house: House, **shown: str) -> None:
    """The agent's word: its broker was started with what was signed, and these listeners show these serials."""
    instance = house.view().instances[broker().key]
    served = tuple(
        ServedCertificate(listener=name, port=9091, serial=serial, at=START, problem="" if serial else "refused")
        for name, serial in shown.items()
    )
    report = CertificateReport(
        serial=serial_of(house), until=START + timedelta(days=365), issuer="a", believes=("a",), served=served
    )
    found = a_report(instance, "running", received_at=house.now, certificate=report)
    subject = Subject(AGENT_REPORT, house.view().uid, instance.key)
    house.latest.put(LatestValue(subject, found.report.model_dump(mode="json"), source="agent", observed_at=house.now))


def test_a_cluster_in_plaintext_says_that_it_has_none() -> None:
    house = House()
    house.apply()
    assert "Its nodes speak plaintext, and have no certificates." in told(house)


def test_cas_and_nodes_are_told_with_their_ends_and_what_nobody_saw_is_unknown(house: House) -> None:
    text = told(house)
    assert "cluster CA nodes, and Kedge's own connections" in text
    assert "clients CA users" in text
    assert f"{broker().key} {serial_of(house)[:12]} 2026-01-01" in text
    assert "2027-01-01" in text
    assert "2026-09-01" in text, "from here on it is renewed"
    assert text.count("unknown") == 2, "of what it was started with, and what it shows"
    assert "kedge replace-ca orders" in text


def test_each_listener_is_told_with_what_it_shows(house: House) -> None:
    says(house, REPLICATION=serial_of(house), TLS="2e", SASL="")
    text = told(house)
    assert "REPLICATION 9091: this one 0 s ago" in text
    assert "TLS 9091: another one 2e" in text
    assert "SASL 9091: unknown, refused" in text


def test_what_is_due_or_over_says_so(house: House) -> None:
    assert " due " not in told(house)
    house.pass_time(days=250)
    assert " due " in told(house, "zoe")
    house.pass_time(days=120)
    assert " over " in told(house, "zed")


def test_a_replacement_in_hand_is_told_with_its_phase_and_what_comes_next(house: House) -> None:
    assert "being replaced" not in told(house)
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by ada: it may have leaked"))
    text = told(house, "zoe")
    assert (
        "A CA is being replaced. The cluster CA is being replaced (asked by ada: it may have leaked): trust-both"
        in text
    )
    assert f"Not known: {broker().key}" in text
    assert "It goes on by itself until every node is at this phase" in text
    assert "kedge replace-ca orders --back" in text


def phase(kind: str, name: str, *, reached: bool) -> api.AuthorityReplacementOut:
    return api.AuthorityReplacementOut.model_validate(
        {"kind": kind, "phase": name, "since": START, "reached": reached, "reason": "asked by ada"}
        | {"there": [], "behind": [], "unknown": []}
    )


@pytest.mark.parametrize(
    ("kind", "name", "reached", "command"),
    [
        ("cluster", "trust-both", True, "`kedge replace-ca orders --continue`"),
        ("clients", "trust-both", True, "`kedge replace-ca orders --clients --continue`"),
        ("cluster", "reissue", False, "`kedge replace-ca orders --back`"),
        ("cluster", "reissue", True, "`kedge replace-ca orders --back`"),
        ("clients", "reissue", True, "`kedge replace-ca orders --clients --continue`"),
    ],
)
def test_the_next_command_is_named_where_it_is_a_persons(kind: str, name: str, reached: bool, command: str) -> None:
    text = next_text("orders", phase(kind, name, reached=reached))
    assert command in text
    assert ("--continue" in text) == ("--continue" in command)


@pytest.mark.parametrize("name", ["new-alone", "old-alone"])
def test_what_has_no_way_back_names_no_command(name: str) -> None:
    assert "kedge" not in next_text("orders", phase("cluster", name, reached=False))
