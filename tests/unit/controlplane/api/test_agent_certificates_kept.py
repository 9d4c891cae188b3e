"""No agent is locked out: after long absence, wrong clocks, lost keys or databases, or from before certificates."""

import ssl
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.certification import signing_request
from agent.client import CertificateLost, CredentialLost, NewDocument, RetryLater, ServerRefused
from agent.identity import INSTANCE_HEADER, enrol_request
from controlplane.api.peers import certificate_of
from controlplane.storage.certificates.agents import AgentCertificate
from controlplane.storage.certificates.authority import Authority
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.unit.controlplane.api.agents_door import Door, report
from tests.unit.controlplane.api.certified_agent import LIFE, RENEWAL, Agent, agent_of, asked, certified_at, stranger
from tests.unit.controlplane.api.portal_house import START, broker

# --- nobody is locked out ---------------------------------------------------------------------------------------


def test_a_vm_that_was_off_for_a_month_comes_back_by_itself(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        over = agent.certificate
    door.house.pass_time(days=30)
    with agent_of(door, tmp_path / "vm") as agent:
        assert not agent.hears(), "it is told that its certificate is over"
        assert agent.hears()
        assert agent.certificate.not_valid_after_utc > over.not_valid_after_utc
        agent.report()
        assert agent.problem == ""


@pytest.mark.parametrize("days", [-30, 30, 400], ids=["back", "forward", "forward-by-more-than-a-year"])
def test_a_servers_clock_that_is_set_wrong_and_right_again_loses_no_agent(
    tmp_path: Path, door: Door, days: int
) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        for moved in (days, -days):
            door.house.pass_time(days=moved)
            agent.report()
            agent.hears()
            assert agent.hears()
            agent.report()
            assert agent.hears()
        assert agent.certificate.not_valid_after_utc == door.house.now + LIFE, "by the right clock, in the end"


def test_a_server_restored_from_before_the_first_certificate_hears_it_all_the_same(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        known = door.house.credentials
        assert isinstance(known, MemoryCredentialStore)
        known._credentials[door.vm] = replace(known._credentials[door.vm], certified_at=None)
        door.house.pass_time(hours=1)
        assert agent.hears()
        assert certified_at(door) == door.house.now


def test_a_server_that_lost_its_database_enrols_it_once_more_with_a_certificate(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        known = door.house.credentials
        assert isinstance(known, MemoryCredentialStore)
        known._credentials.clear()
        assert not agent.hears()
        assert agent.hears()
        assert agent.certificate != before
        assert certified_at(door) is not None


def test_a_damaged_certificate_before_its_first_use_is_asked_for_again(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        agent.documents._enrol()
    (tmp_path / "vm" / "certificate.pem").write_text("half of a")
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears(), "nothing was shown yet: the credential counts alone"
        agent.report()
        assert agent.certificate
        assert agent.hears()
        assert certified_at(door) is not None


def test_an_agent_whose_key_is_lost_says_so_asks_rarely_and_goes_on_with_what_runs(tmp_path: Path, door: Door) -> None:
    """Its credential alone opens nothing any more: the node is replaced, as for a lost credential."""
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
    (tmp_path / "vm" / "certificate.pem").unlink()
    with agent_of(door, tmp_path / "vm") as agent:
        pauses = [agent.documents.step() for _ in range(3)]
        assert pauses[1:] == [15.0, 15.0]
        assert not agent.documents.is_over
        assert "replace the node" in agent.problem


def test_a_disk_that_takes_no_certificate_leaves_the_one_before(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        (agent.state / "certificate.pem.next").mkdir()
        with pytest.raises(RetryLater, match="cannot be kept"):
            agent.certification.run()
        assert agent.certificate == before
        assert agent.hears()


def test_a_certificate_of_another_key_is_not_kept(tmp_path: Path, door: Door, authority: Authority) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        before = agent.certificate
        others = authority.certify(signing_request().csr_pem, "kedge:c/n.g1", now=START)
        with pytest.raises(ServerRefused, match="cannot be used"):
            agent.certification.take(signing_request(), others)
        assert agent.certificate == before
        assert agent.hears()


# --- from before there were certificates ------------------------------------------------------------------------


class Earlier(Agent):
    """An agent of a release before: it knows of no certificates."""

    def __init__(self, door: Door, state: Path) -> None:
        super().__init__(door, state)
        self.documents._certification = self.reports._certification = None


def is_told_as_uncertified(door: Door) -> bool:
    """In the API, and on the page of agents."""
    client = door.house.client
    (told,) = client.get("/v1/clusters/orders").json()["instances"]
    page = client.get("/agents", headers={"Accept": "text/html"}).text
    assert told["uncertified"] is ("it has shown no certificate" in page)
    return bool(told["uncertified"])


def test_an_agent_of_a_release_before_is_heard_until_its_vm_has_shown_a_certificate(tmp_path: Path, door: Door) -> None:
    earlier = Earlier(door, tmp_path / "vm")
    assert earlier.hears()
    earlier.report()
    earlier.report()
    assert earlier.problem == ""
    assert certified_at(door) is None
    assert is_told_as_uncertified(door)
    earlier.client.close()
    with agent_of(door, tmp_path / "vm") as upgraded:
        assert upgraded.hears()
        assert certified_at(door) is None
        upgraded.report()
        assert upgraded.hears()
        assert certified_at(door) == door.house.now
        assert not is_told_as_uncertified(door)
    again = Earlier(door, tmp_path / "vm2")
    again.client.show(upgraded.client.shown)
    with pytest.raises(CertificateLost):
        again.client.document(etag="", wait_s=0)
    again.client.close()


def test_an_agent_on_trial_asks_for_no_first_certificate_and_may_give_way_to_the_one_before(
    tmp_path: Path, door: Door
) -> None:
    earlier = Earlier(door, tmp_path / "vm")
    assert earlier.hears()
    with agent_of(door, tmp_path / "vm", is_settled=False) as on_trial:
        assert on_trial.hears()
        on_trial.report()
        assert not (on_trial.state / "certificate.pem").exists()
        assert earlier.hears(), "it was taken back"
        on_trial.is_settled = True
        on_trial.report()
        assert on_trial.hears()
        on_trial.is_settled = False
        door.house.pass_time(days=3)
        before = on_trial.certificate
        on_trial.report()
        assert on_trial.certificate != before, "one that has a certificate renews it at any time"
    earlier.client.close()


def test_over_plain_http_no_certificate_is_asked_for_and_none_is_made_by_it(tmp_path: Path, door: Door) -> None:
    house, vm = door.house, door.vm
    with agent_of(door, tmp_path / "vm") as agent:
        earlier = Earlier(door, tmp_path / "vm")
        assert earlier.hears()
        plain = house.agent(vm, agent.client.shown)
        said = plain.post("/agent/v1/report", json=report(vm, 1).model_dump(mode="json")).json()
        assert (said["accepted"], said["certify"]) == (True, False)
        assert agent.hears()
        agent.report()
        assert agent.hears()
        refused = plain.post("/agent/v1/report", json=report(vm, 2).model_dump(mode="json"))
        assert (refused.status_code, refused.json()["code"]) == (401, "certificate-needed"), "nor by another door"
        earlier.client.close()


def test_a_server_without_a_ca_signs_nothing(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        object.__setattr__(door.house.services.access, "authority", None)
        with pytest.raises(RetryLater, match="no-ca"):
            agent.client.certify(asked(agent))


def test_the_door_tells_each_request_what_its_connection_has_shown(tmp_path: Path, door: Door) -> None:
    seen: list[AgentCertificate | None] = []
    served_by = door.heard.app

    async def looking(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(certificate_of(scope))
        await served_by(scope, receive, send)

    door.heard.app = looking
    with agent_of(door, tmp_path / "vm") as agent:
        assert agent.hears()
        assert agent.hears()
    instance = f"{door.vm.cluster_uid}/{door.vm.node}.g{door.vm.generation}"
    assert seen == [None, None, *[AgentCertificate(instance, START, START + LIFE)] * 2]
    believing = ssl.create_default_context(cadata=(tmp_path / "vm" / "ca.pem").read_text())
    lie = {INSTANCE_HEADER: instance, "X-Client-Cert": "x", "X-SSL-Client-S-DN": instance}
    assert httpx.get(f"{door.url}/agent/v1/document", headers=lie, verify=believing).status_code != 200
    assert seen[-1] is None


def test_a_certificate_is_old_by_an_age_nobody_knows() -> None:
    made = AgentCertificate("c/n.g1", START, START + LIFE)
    assert not made.is_old(START)
    assert not made.is_old(START - timedelta(minutes=4))
    assert made.is_old(START - timedelta(minutes=6))
    assert made.is_old(START + RENEWAL)
    assert not made.is_over(START - timedelta(days=99)), "a clock set back refuses nobody"
    assert made.is_over(START + LIFE)


def test_the_agent_of_the_generation_before_speaks_for_itself_only(tmp_path: Path, door: Door) -> None:
    with agent_of(door, tmp_path / "vm") as old:
        assert old.hears()
        door.house.launch(broker(number=1001, generation=2, replaces=1), intent="intent-2")
        successor = old.boot.model_copy(update={"generation": 2})
        with stranger(door, old, certificate=old.state / "certificate.pem") as thief:
            with pytest.raises(CredentialLost):
                thief.enrol(enrol_request(successor, "d" * 64))
            assert isinstance(thief.document(etag="", wait_s=0), NewDocument), "for itself"
