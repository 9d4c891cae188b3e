"""Certificates of agents over real TLS: how a VM comes by one, what is refused, and that no VM is ever locked out."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from agent.certification import signing_request
from agent.identity import enrol_request
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.certificates.shown import AGENT_CERTIFICATE
from controlplane.storage.latest_values import LatestValue
from tests.unit.controlplane.api.agents_door import Door
from tests.unit.controlplane.api.certified_agent import LIFE, RENEWAL, agent_of, asked, certified_at
from tests.unit.controlplane.api.portal_house import START

# --- how it comes by one ----------------------------------------------------------------------------------------


def test_an_agent_enrols_with_a_key_of_its_own_and_shows_its_certificate_from_then_on(
    tmp_path: Path, door: Door
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        made = agent.certificate
        names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        vm = door.vm
        assert list(names) == [x509.UniformResourceIdentifier(f"kedge:{vm.cluster_uid}/{vm.node}.g{vm.generation}")]
        use = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(use) == [ExtendedKeyUsageOID.CLIENT_AUTH]
        assert made.not_valid_after_utc - START == LIFE
        assert (agent.state / "certificate.pem").stat().st_mode & 0o777 == 0o600
        assert certified_at(door) == START
        agent.report()
        assert agent.problem == ""
    with agent_of(door, tmp_path / "vm") as again:
        assert again.hears()
        assert again.certificate == made, "an agent that starts again asks for none"


def test_the_servers_records_and_answers_hold_no_key(tmp_path: Path, door: Door) -> None:
    begun = signing_request()
    assert "PRIVATE" not in begun.csr_pem
    assert "PRIVATE" not in repr(begun)
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        assert "PRIVATE" not in agent.client.certify(asked(agent)).certificate


def test_it_is_renewed_after_two_of_its_seven_days_by_the_servers_clock_with_a_fresh_key(
    tmp_path: Path, door: Door
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        first = agent.certificate
        door.house.pass_time(seconds=RENEWAL.total_seconds() - 1)
        agent.report()
        assert agent.certificate == first
        door.house.pass_time(seconds=1)
        agent.report()
        second = agent.certificate
        assert second.public_key() != first.public_key()
        assert second.not_valid_after_utc - first.not_valid_after_utc == RENEWAL
        assert agent.hears()
        agent.report()
        assert agent.certificate == second


def test_when_it_ends_is_told_to_people_before_it_does(tmp_path: Path, door: Door) -> None:
    house = door.house
    ada = house.browser("ada", Binding("", Role.VIEWER, "*"))
    writes: list[LatestValue] = []
    put = house.latest.put

    def noted(observation: LatestValue) -> bool:
        if observation.subject.kind == AGENT_CERTIFICATE:
            writes.append(observation)
        return put(observation)

    house.latest.put = noted  # type: ignore[method-assign]

    def told() -> dict[str, Any]:
        (instance,) = house.client.get("/v1/clusters/orders").json()["instances"]
        return dict(instance)

    assert told()["certificate_ends_at"] is None
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        agent.report()
        agent.report()
        ends = agent.certificate.not_valid_after_utc
    assert datetime.fromisoformat(told()["certificate_ends_at"]) == ends
    assert len(writes) == 1, "a row is written for another certificate, not for each report"
    assert f"{ends:%Y-%m-%d}" in ada.get("/agents").text
    assert "not renewed" not in ada.get("/agents").text
    house.pass_time(days=4, seconds=1)
    ada = house.browser("bea", Binding("", Role.VIEWER, "*"))
    assert "not renewed" in ada.get("/agents").text
    house.pass_time(days=3)
    ada = house.browser("cleo", Binding("", Role.VIEWER, "*"))
    assert '<span class="word bad">over</span>' in ada.get("/agents").text


def test_certificate_and_credential_are_renewed_in_one_step_where_both_are_due(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        first, secret = agent.certificate, agent.client.shown
        door.house.pass_time(days=6.9)
        object.__setattr__(door.house.services.access, "credential_life", timedelta(days=6))
        agent.report()
        assert agent.certificate != first
        assert agent.client.shown != secret
        assert agent.hears()


def test_a_call_under_way_ends_on_the_connection_it_began_on(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        with agent.client._connections.call() as pool:
            agent.certification.run()
            assert not pool.http.is_closed
            assert not agent.client._connections.is_current(pool)
        assert pool.http.is_closed
        assert agent.hears()


def test_an_answer_that_was_lost_leaves_what_was_there(tmp_path: Path, door: Door) -> None:
    """At the enrolment, and at a renewal: what the server signed and nobody has counts for nothing."""
    with agent_of(door, tmp_path / "vm") as agent:
        agent.client.enrol(enrol_request(agent.boot, agent.client.shown).model_copy(update={"csr": asked(agent).csr}))
        assert agent.hears(), "it enrols again, with another key"
        agent.client.certify(asked(agent))
        assert agent.hears()
