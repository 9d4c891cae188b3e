"""Enrolment, documents and reports: what the agent of one VM may do, and what it is told when it is over."""

import hashlib
import threading
import time
from typing import Any

import httpx
import pytest

from agent.wire import Document, Report
from controlplane.api.auth import enrolment_token
from controlplane.api.document_offers import hold_s
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.converger.questions.documents import document_for
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Origin
from events.ids import ClusterUid, Epoch, IntentId, NodeName
from tests.unit.controlplane.api.agent_house import (
    CREDENTIAL,
    DIGEST,
    OTHER_DIGEST,
    ask,
    enrol,
    enrolled,
    etag_of,
)
from tests.unit.controlplane.api.portal_house import START, House, broker, vm_of
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture(params=["by the routes", "by what is in memory"])
def house(request: pytest.FixtureRequest) -> House:
    """With `orders`; who asks again is answered without the routes, and hears the same."""
    house = House(remembers_agents=request.param == "by what is in memory")
    house.apply()
    return house


def _report(vm: Vm, *, boot: str = "boot-1", seq: int = 1, **changes: object) -> dict[str, Any]:
    report = Report(
        cluster_uid=vm.cluster_uid,
        node=vm.node,
        generation=vm.generation,
        boot_id=boot,
        seq=seq,
        at=START,
        agent_version="1",
        epoch=3,
        services=(),
    )
    return {**report.model_dump(mode="json"), **changes}


# --- enrolment --------------------------------------------------------------------------------------------------


def test_the_token_of_the_boot_data_is_swapped_for_the_agents_own_credential(house: House) -> None:
    vm = vm_of(house.surge(broker()), broker())
    assert enrol(house, vm).json() == {"accepted": True, "certificate": ""}
    assert house.credentials.recognise(vm, DIGEST)


def test_the_same_credential_again_is_answered_again_even_after_the_hour(house: House) -> None:
    vm = enrolled(house)
    house.pass_time(hours=2)
    assert enrol(house, vm).status_code == 200


def test_a_token_is_good_for_one_credential_only(house: House) -> None:
    vm = enrolled(house)
    response = enrol(house, vm, credential_sha256=OTHER_DIGEST)
    assert (response.status_code, response.json()["code"]) == (403, "enrolment-refused")
    assert house.credentials.recognise(vm, DIGEST)


def test_a_token_is_good_for_an_hour_from_the_recorded_intent(house: House) -> None:
    vm = vm_of(house.surge(broker()), broker())
    house.pass_time(minutes=59)
    late = vm_of(house.surge(broker("brokers-b-0", 1001), intent="intent-2"), broker("brokers-b-0"))
    house.pass_time(minutes=2)
    assert enrol(house, vm).status_code == 403
    token = enrolment_token(house.services.access.installation.server_key, IntentId("intent-2"))
    assert enrol(house, late, intent_id="intent-2", token=token).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "0" * 64},
        {"token": ""},
        {"node": "brokers-b-0"},
        {"generation": 2},
        {"cluster_uid": "cd" * 16},
        {"intent_id": "intent-9"},
    ],
)
def test_a_token_rebinds_to_nothing_else(house: House, changes: dict[str, object]) -> None:
    vm = vm_of(house.surge(broker()), broker())
    response = enrol(house, vm, **changes)
    assert (response.status_code, response.json()["code"]) == (403, "enrolment-refused")
    assert house.credentials.get(vm) is None


def test_the_right_token_of_another_intent_enrols_only_that_intents_vm(house: House) -> None:
    vm = vm_of(house.surge(broker()), broker())
    house.surge(broker("brokers-b-0", 1001), intent="intent-2")
    token = enrolment_token(house.services.access.installation.server_key, IntentId("intent-2"))
    assert enrol(house, vm, intent_id="intent-2", token=token).status_code == 403


@pytest.mark.parametrize("digest", ["", "short", "G" * 64, DIGEST.upper()])
def test_a_credential_is_enrolled_by_its_hash_alone(house: House, digest: str) -> None:
    vm = vm_of(house.surge(broker()), broker())
    assert enrol(house, vm, credential_sha256=digest).status_code == 422


def test_an_agent_of_a_wire_version_nobody_speaks_is_told_so(house: House) -> None:
    vm = vm_of(house.surge(broker()), broker())
    assert enrol(house, vm, wire=99).json()["code"] == "wire-version"


# --- documents --------------------------------------------------------------------------------------------------


def test_an_agent_gets_the_document_of_its_instance(house: House) -> None:
    vm = enrolled(house)
    response = ask(house, vm)
    document = Document.model_validate_json(response.content)
    assert response.status_code == 200
    assert document == document_for(house.view(), "brokers-a-0.g1", epoch=3)


def test_an_unchanged_document_is_304_at_once_when_nobody_waits(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    response = ask(house, vm, etag=etag)
    assert (response.status_code, response.content, etag_of(response)) == (304, b"", etag)


def test_a_new_epoch_alone_is_no_new_document(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    house.lead.epoch = Epoch(4)
    assert ask(house, vm, etag=etag).status_code == 304
    assert Document.model_validate_json(ask(house, vm).content).epoch == 4


def test_an_event_that_does_not_concern_the_vm_leaves_its_etag(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    house.record(facts.ClusterPaused("lunch", None))
    assert ask(house, vm, etag=etag).status_code == 304


def test_a_vm_that_filters_packets_hears_of_other_clients_though_nothing_was_recorded_of_its_cluster(
    house: House,
) -> None:
    house.filter_rules = "rules of its birth"
    vm = enrolled(house)
    first = ask(house, vm)
    assert Document.model_validate_json(first.content).packet_filter == "rules of its birth"
    assert ask(house, vm, etag=etag_of(first)).status_code == 304
    house.filter_rules = "rules with clients"
    then = ask(house, vm, etag=etag_of(first))
    assert Document.model_validate_json(then.content).packet_filter == "rules with clients"


def test_a_held_question_is_answered_as_soon_as_the_document_changes(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(ask(house, vm, etag=etag, wait_s=20)))
    asking.start()
    # Held while nothing happens: this is what a long poll is; the deadline of the poll itself is far away.
    asking.join(timeout=0.5)
    assert asking.is_alive()
    voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
    house.record(facts.QuorumFounded("kafka", "4.1", (voter,)))
    asking.join(timeout=10)
    assert [a.status_code for a in answers] == [200]
    assert Document.model_validate_json(answers[0].content).services[0].name == "broker"


def test_a_held_question_ends_with_304_when_its_time_is_up(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    before = time.monotonic()
    assert ask(house, vm, etag=etag, wait_s=0.3).status_code == 304
    assert time.monotonic() - before >= hold_s(vm, 0.3)


def test_a_restart_that_was_not_heard_in_time_is_kept_back_until_it_is_found_safe_again(house: House) -> None:
    vm = enrolled(house)
    voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
    house.record(facts.QuorumFounded("kafka", "4.1", (voter,)))
    had = etag_of(ask(house, vm))
    running = {"name": "broker", "state": "running", "start_id": f"{vm.node}.g1-1", "since": START.isoformat()}
    assert _send(house, vm, services=[running])
    house.record(facts.RestartRequested(f"{vm.node}.g1", 1, 2, {}, {}, False, "asked by anna"))
    told = ask(house, vm, etag=had)
    assert told.status_code == 200
    house.pass_time(seconds=31)
    assert ask(house, vm, etag=had).status_code == 304
    assert ask(house, vm).status_code == 304, "also to an agent that has lost its memory"
    house.record(facts.OrderRenewed(f"{vm.node}.g1", "the gate is open"))
    assert etag_of(ask(house, vm, etag=had)) == etag_of(told)


def test_a_server_that_stops_sends_those_who_wait_away(house: House) -> None:
    vm = enrolled(house)
    etag = etag_of(ask(house, vm))
    house.app.state.feed.close()
    before = time.monotonic()
    assert ask(house, vm, etag=etag, wait_s=20).status_code == 304
    assert time.monotonic() - before < 5


def test_a_retired_instance_is_told_that_it_is_over(house: House) -> None:
    vm = enrolled(house)
    house.record(facts.InstanceJoined("brokers-a-0.g1", 1000))
    house.record(facts.FenceRequested(("brokers-a-0.g1",), "t"), facts.NodeFenced("brokers-a-0.g1", "agent"))
    house.record(facts.RetireRequested("r", ("brokers-a-0.g1",), (), "t"), facts.RetireCompleted("r"))
    assert ask(house, vm).status_code == 410
    assert house.agent(vm, CREDENTIAL).post("/agent/v1/report", json=_report(vm)).status_code == 410


@pytest.mark.parametrize(("policy", "status"), [("destroy", 410), ("retain", 404)])
def test_a_deleted_clusters_vm_stops_only_when_its_policy_destroys(policy: str, status: int) -> None:
    house = House()
    house.apply(text=_orders(policy))
    vm = enrolled(house)
    house.record(facts.ClusterDeletionRequested("orders", "t"), facts.ClusterDeleted(retained=policy == "retain"))
    assert ask(house, vm).status_code == status


def test_an_instance_that_is_not_known_here_is_not_told_to_stop(house: House) -> None:
    """A restored backup may be older than the VM. Unknown is not over."""
    vm = Vm(house.view().uid, broker().node, 7)  # type: ignore[arg-type]
    house.credentials.enroll(vm, credential_sha256=DIGEST, intent_id=IntentId("i"))
    assert ask(house, vm).status_code == 404
    assert house.agent(vm, CREDENTIAL).post("/agent/v1/report", json=_report(vm)).status_code == 200


def test_a_server_that_does_not_lead_gives_out_no_document(house: House) -> None:
    vm = enrolled(house)
    house.lead.epoch = None
    response = ask(house, vm)
    assert (response.status_code, response.json()["code"]) == (503, "not-leading")


def test_an_agent_gets_nobody_elses_document(house: House) -> None:
    vm = enrolled(house)
    for changes in ({"node": "brokers-b-0"}, {"generation": 2}, {"cluster": "cd" * 16}):
        assert ask(house, vm, **changes).status_code == 403


# --- reports ----------------------------------------------------------------------------------------------------


def _send(house: House, vm: Vm, **changes: Any) -> bool:
    response = house.agent(vm, CREDENTIAL).post("/agent/v1/report", json=_report(vm, **changes))
    assert response.status_code == 200, response.text
    return bool(response.json()["accepted"])


def test_a_report_is_kept_under_its_instance_with_the_time_of_the_server(house: House) -> None:
    vm = enrolled(house)
    house.pass_time(seconds=30)
    assert _send(house, vm, at="1999-01-01T00:00:00Z")
    [kept] = house.latest.of_cluster(vm.cluster_uid, AGENT_REPORT)
    assert (kept.subject.name, kept.observed_at) == ("brokers-a-0.g1", house.now)
    assert Report.model_validate(dict(kept.value)).seq == 1


def test_an_older_or_repeated_report_is_taken_and_ignored(house: House) -> None:
    vm = enrolled(house)
    assert [_send(house, vm, seq=n) for n in (5, 5, 4, 6)] == [True, False, False, True]


def test_a_report_of_an_earlier_boot_is_a_ghost(house: House) -> None:
    vm = enrolled(house)
    sent = [("boot-1", 9), ("boot-2", 1), ("boot-1", 10), ("boot-2", 2)]
    assert [_send(house, vm, boot=b, seq=n) for b, n in sent] == [True, True, False, True]


def test_a_report_has_its_cluster_looked_at_while_there_is_work(house: House) -> None:
    vm = enrolled(house)
    house.woken.clear()
    _send(house, vm, seq=1)
    _send(house, vm, seq=1)
    assert house.woken == [vm.cluster_uid]


def test_a_report_of_a_converged_cluster_wakes_nobody(house: House) -> None:
    vm = enrolled(house)
    house.record(facts.InstanceJoined("brokers-a-0.g1", 1000), facts.RecycleCompleted(1))
    house.woken.clear()
    assert _send(house, vm)
    assert house.woken == []


def test_a_vm_that_is_taken_back_has_its_cluster_looked_at_at_once(house: House) -> None:
    vm = enrolled(house)
    house.record(facts.InstanceJoined("brokers-a-0.g1", 1000), facts.RecycleCompleted(1))
    house.woken.clear()
    told = {"kind": "preempt", "deadline": None, "since": "2026-01-01T12:00:00Z", "words": "preempted"}
    assert _send(house, vm, preemption=told)
    assert house.woken == [vm.cluster_uid]


def test_an_agent_reports_for_its_own_instance_only(house: House) -> None:
    vm = enrolled(house)
    for changes in ({"node": "brokers-b-0"}, {"generation": 2}, {"cluster_uid": "cd" * 16}):
        response = house.agent(vm, CREDENTIAL).post("/agent/v1/report", json={**_report(vm), **changes})
        assert (response.status_code, response.json()["code"]) == (403, "not-yours")
    assert house.latest.of_cluster(vm.cluster_uid, AGENT_REPORT) == []


# --- rotation ---------------------------------------------------------------------------------------------------

NEXT = "d" * 64
NEXT_DIGEST = hashlib.sha256(NEXT.encode()).hexdigest()


def _rotate(house: House, vm: Vm, *, shown: str = CREDENTIAL, **changes: object) -> httpx.Response:
    body = {"cluster_uid": vm.cluster_uid, "node": vm.node, "generation": vm.generation}
    body["credential_sha256"] = NEXT_DIGEST
    return house.agent(vm, shown).post("/agent/v1/rotate", json={**body, **changes})


def _asked_to_rotate(house: House, vm: Vm, *, shown: str = CREDENTIAL, seq: int = 1) -> bool:
    response = house.agent(vm, shown).post("/agent/v1/report", json=_report(vm, seq=seq))
    assert response.status_code == 200, response.text
    return bool(response.json()["rotate"])


def _note(house: House) -> dict[str, Any]:
    [instance] = house.client.get("/v1/clusters/orders").json()["instances"]
    return {k: instance[k] for k in ("credential_since", "credential_overdue", "outdated_credential_at")}


def test_an_agent_is_asked_to_rotate_once_its_credential_is_a_week_old(house: House) -> None:
    vm = enrolled(house)
    house.pass_time(days=6.9)
    assert not _asked_to_rotate(house, vm, seq=1)
    house.pass_time(days=0.1)
    assert _asked_to_rotate(house, vm, seq=2)
    assert _rotate(house, vm).json() == {"accepted": True}
    assert _asked_to_rotate(house, vm, seq=3), "the next one was not shown yet"
    assert not _asked_to_rotate(house, vm, shown=NEXT, seq=4)


def test_from_the_first_use_of_the_new_credential_on_the_old_one_is_refused(house: House) -> None:
    vm = enrolled(house)
    assert _rotate(house, vm).status_code == 200
    assert ask(house, vm).status_code == 200
    assert house.agent(vm, NEXT).post("/agent/v1/report", json=_report(vm)).status_code == 200
    assert ask(house, vm).status_code == 401
    assert _rotate(house, vm, credential_sha256=OTHER_DIGEST).status_code == 401


def test_an_enrolment_token_replayed_after_a_rotation_brings_no_old_credential_back(house: House) -> None:
    vm = enrolled(house)
    _rotate(house, vm)
    assert _asked_to_rotate(house, vm, shown=NEXT) is False
    assert enrol(house, vm).json()["code"] == "enrolment-refused"
    assert enrol(house, vm, credential_sha256=NEXT_DIGEST).status_code == 200


def test_a_rotation_is_the_agents_own_affair(house: House) -> None:
    vm = enrolled(house)
    for changes in ({"node": "brokers-b-0"}, {"generation": 2}, {"cluster_uid": "cd" * 16}):
        assert _rotate(house, vm, **changes).json()["code"] == "not-yours"
    assert _rotate(house, vm, shown="wrong").status_code == 401
    assert _rotate(house, vm, credential_sha256="short").status_code == 422
    assert _rotate(house, vm, wire=99).json()["code"] == "wire-version"
    assert house.credentials.get(vm).next_sha256 is None  # type: ignore[union-attr]


def test_who_wants_back_to_the_credential_before_is_refused_with_what_to_do(house: House) -> None:
    vm = enrolled(house)
    _rotate(house, vm)
    response = _rotate(house, vm, shown=NEXT, credential_sha256=DIGEST)
    assert (response.status_code, response.json()["code"]) == (409, "rotation-refused")
    assert "had before" in response.json()["detail"]


def test_a_cluster_tells_how_old_the_credentials_of_its_agents_are(house: House) -> None:
    vm = vm_of(house.launch(broker()), broker())
    assert _note(house)["credential_since"] is None
    enrol(house, vm)
    assert _note(house) == {
        "credential_since": house.now.isoformat().replace("+00:00", "Z"),
        "credential_overdue": False,
        "outdated_credential_at": None,
    }
    house.pass_time(days=14)
    assert _note(house)["credential_overdue"]


def test_a_cluster_tells_that_somebody_showed_an_outdated_credential(house: House) -> None:
    vm = enrolled(house)
    _rotate(house, vm)
    _asked_to_rotate(house, vm, shown=NEXT)
    house.pass_time(hours=1)
    assert ask(house, vm).status_code == 401
    assert _note(house)["outdated_credential_at"] == house.now.isoformat().replace("+00:00", "Z")


# --- the CA -----------------------------------------------------------------------------------------------------


def test_a_server_without_tls_has_no_ca_to_show(house: House) -> None:
    response = house.client_with({}).get("/agent/v1/ca")
    assert (response.status_code, response.json()["code"]) == (404, "no-ca")
    assert "agents.host" in response.json()["next"]


def test_the_ca_is_shown_to_anybody(house: House) -> None:
    object.__setattr__(house.services.access, "ca_pem", "-----BEGIN CERTIFICATE-----")
    assert house.client_with({}).get("/agent/v1/ca").text == "-----BEGIN CERTIFICATE-----"


def _orders(policy: str) -> str:
    return f"{ORDERS}  deletionPolicy: {policy}\n"


def test_agents_that_asked_together_do_not_come_back_together() -> None:
    held = sorted(hold_s(Vm(ClusterUid("ab" * 8), NodeName(f"brokers-a-{n}"), 1), 25.0) for n in range(500))
    assert 20.0 <= held[0] < held[-1] <= 25.0
    assert max(sum(at <= other < at + 0.5 for other in held) for at in held) < 100, "of 500 in any half second"
    assert hold_s(Vm(ClusterUid("ab" * 8), NodeName("brokers-a-0"), 1), 0.0) == 0.0


def _recorded_elsewhere(house: House, *told: object) -> None:
    """By another process: what is folded here does not have it yet."""
    view = house.view()
    stream = cluster_stream(view.uid)
    events = new_events(stream, view.version, told)
    house.store.append(stream, events, expected_version=view.version, origin=Origin("elsewhere"))


def test_a_document_is_made_of_all_that_was_recorded_before_the_question(house: House) -> None:
    """Another process told of it already: an older one would have the agent start what it was told to stop."""
    vm = enrolled(house)
    assert Document.model_validate_json(ask(house, vm).content).services == ()
    voter = facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir")
    _recorded_elsewhere(house, facts.QuorumFounded("kafka", "4.1", (voter,)))
    assert Document.model_validate_json(ask(house, vm).content).services[0].name == "broker"


def test_a_vm_that_another_process_recorded_a_moment_ago_enrols(house: House) -> None:
    vm = vm_of(house.view(), broker())
    _recorded_elsewhere(house, facts.SurgeRequested("intent-1", (broker(),), "test"))
    assert enrol(house, vm).status_code == 200
