"""When the next report is wanted, as agents hear it, and reports that say that nothing changed."""

import hashlib
from typing import Any

import pytest

from agent.wire import REPORT_IN, Report, UnchangedReport
from controlplane.api.report_paces import WATCHED_FOR, ReportPaces
from controlplane.cluster.observed.agent_reports import AGENT_FINDINGS, last_report
from controlplane.cluster.observed.report_pace import AT_REST, AT_WORK, ReportPace
from events import facts
from events.ids import IntentId
from tests.builders import a_view
from tests.unit.controlplane.api.portal_house import START, House, brokers_as_declared, vm_of

CREDENTIAL = "c" * 64
SERVICE = {"name": "broker", "state": "running", "start_id": "s1", "since": START.isoformat()}
FINDING = {"name": "deadlock", "since": START.isoformat(), "message": "two threads"}


class Party:
    """One cluster of three brokers as declared, whose agents are answered from memory. It rests at first."""

    def __init__(self) -> None:
        self.house = House(remembers_agents=True)
        self.house.apply()
        planned = brokers_as_declared(self.house.view())
        self.house.join(*planned)
        self.house.record(facts.RecycleCompleted(self.house.view().generation))
        self.vm = vm_of(self.house.view(), planned[0])
        digest = hashlib.sha256(CREDENTIAL.encode()).hexdigest()
        self.house.credentials.enroll(self.vm, credential_sha256=digest, intent_id=IntentId("intent-1"))
        self.paces: ReportPaces = self.house.app.state.offers.paces
        self.seq = 0

    def report(self, **changes: Any) -> dict[str, Any]:
        return self._post("report", {**self.reported().model_dump(mode="json"), "services": [SERVICE], **changes})

    def reported(self) -> Report:
        self.seq += 1
        return Report(
            cluster_uid=self.vm.cluster_uid,
            node=self.vm.node,
            generation=1,
            boot_id="b1",
            seq=self.seq,
            at=START,
            agent_version="1",
            epoch=3,
            services=(),
            digest="d1",
        )

    def unchanged(self, digest: str = "d1", boot: str = "b1") -> dict[str, Any]:
        self.seq += 1
        told = UnchangedReport(
            wire=1,
            cluster_uid=self.vm.cluster_uid,
            node=self.vm.node,
            generation=1,
            boot_id=boot,
            seq=self.seq,
            digest=digest,
        )
        return self._post("unchanged", told.model_dump(mode="json"))

    def asks(self, report_s: float) -> tuple[int, str | None]:
        """Status, and when a report is wanted, of the question for another document."""
        params = {"cluster": self.vm.cluster_uid, "node": self.vm.node, "generation": 1, "wait_s": 0}
        agent = self.house.agent(self.vm, CREDENTIAL)
        etag = agent.get("/agent/v1/document", params=params).headers.get("etag", "").strip('"')
        answer = agent.get("/agent/v1/document", params={**params, "etag": etag, "report_s": report_s})
        return answer.status_code, answer.headers.get(REPORT_IN)

    def _post(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.house.agent(self.vm, CREDENTIAL).post(f"/agent/v1/{what}", json=body)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def work(self) -> None:
        """A node is to be started anew."""
        view = self.house.view()
        key = next(iter(view.instances))
        self.house.record(facts.RestartRequested(key, view.generation, 2, {}, {}, canary=False, reason="test"))


@pytest.fixture
def party() -> Party:
    return Party()


def test_at_rest_a_report_is_wanted_rarely_and_with_work_in_hand_every_3_s(party: Party) -> None:
    assert party.report()["next_s"] == 30.0
    party.work()
    assert party.report()["next_s"] == 3.0


def test_an_agent_that_follows_no_pace_is_judged_by_its_own(party: Party) -> None:
    assert party.report(digest="")["next_s"] == 3.0
    seen = last_report(party.house.latest, party.vm.cluster_uid, "brokers-a-0.g1")
    assert seen is not None
    assert seen.pace == AT_WORK


@pytest.mark.parametrize(
    "wrong",
    [
        {"services": [{**SERVICE, "findings": [FINDING]}]},
        {"services": [{**SERVICE, "state": "failed"}]},
        {"heartbeats": [{"broker": 1001, "beats": 0, "silent_s": 31}]},
        {"preemption": {"kind": "preempt", "since": START.isoformat()}},
        {"message": "a document was refused"},
    ],
)
def test_while_something_is_wrong_every_agent_of_the_cluster_is_asked_closely(
    party: Party, wrong: dict[str, Any]
) -> None:
    assert party.report(**wrong)["next_s"] == 3.0
    assert party.paces.of(party.house.view()) == AT_WORK
    assert party.paces.of(a_view()) == AT_REST, "of another cluster nothing was found"
    party.house.pass_time(seconds=WATCHED_FOR.total_seconds() + 1)
    assert party.report()["next_s"] == 30.0


def test_others_are_told_of_a_finding_at_once_and_again_while_it_goes_on(party: Party) -> None:
    told: list[str] = []
    paces, view = ReportPaces(lambda: party.house.now, tell=told.append), party.house.view()
    well = party.reported()
    ill = well.model_copy(update={"message": "a document was refused"})
    paces.after(view, well)
    assert told == []
    paces.after(view, ill)
    paces.after(view, ill)
    assert told == [view.uid], "they heard"
    party.house.pass_time(seconds=WATCHED_FOR.total_seconds() / 2)
    paces.after(view, ill)
    assert told == [view.uid] * 2, "another process has it for a minute only"


def test_a_finding_of_another_process_counts_as_one_that_came_here(party: Party) -> None:
    assert party.report()["next_s"] == 30.0
    party.paces.found(party.vm.cluster_uid)
    assert party.asks(30) == (304, "3")
    assert party.report()["next_s"] == 3.0
    party.house.pass_time(seconds=WATCHED_FOR.total_seconds() + 1)
    assert party.report()["next_s"] == 30.0


def test_who_rests_hears_of_work_by_the_question_it_holds(party: Party) -> None:
    assert party.asks(30) == (304, None)
    party.work()
    assert party.asks(30) == (304, "3")
    assert party.asks(3) == (304, None), "it heard"
    assert party.asks(0) == (304, None), "an agent of before there were paces"


def test_a_report_that_stands_is_not_sent_again(party: Party) -> None:
    party.report()
    party.house.pass_time(seconds=30)
    answer = party.unchanged()
    assert (answer["accepted"], answer["whole"], answer["next_s"]) == (True, False, 30.0)
    seen = last_report(party.house.latest, party.vm.cluster_uid, "brokers-a-0.g1")
    assert seen is not None
    assert (seen.received_at, seen.report.services[0].state) == (party.house.now, "running")


def test_what_is_not_known_is_asked_for_whole(party: Party) -> None:
    assert party.unchanged()["whole"], "nothing was told to this server"
    party.report()
    assert party.unchanged(digest="d2")["whole"]
    assert party.unchanged(boot="b2")["whole"]
    party.work()
    assert party.unchanged()["whole"], "it counts by another pace now, and figures are wanted"
    party.house.forget_agents()
    assert party.unchanged()["whole"], "by the routes"


def test_what_was_found_is_marked_again_by_a_report_that_stands(party: Party) -> None:
    party.report(services=[{**SERVICE, "findings": [FINDING]}])
    party.house.pass_time(seconds=20)
    assert not party.unchanged()["whole"]
    (mark,) = party.house.latest.of_kind(AGENT_FINDINGS)
    assert (mark.value, mark.observed_at) == ({"findings": 1}, party.house.now)


def test_a_digest_that_servers_would_have_to_remember_is_short(party: Party) -> None:
    told = {"services": [], "wire": 1, "cluster_uid": party.vm.cluster_uid, "node": party.vm.node, "generation": 1}
    told |= {"boot_id": "b1", "seq": 1, "at": START.isoformat(), "agent_version": "1", "epoch": 1}
    agent = party.house.agent(party.vm, CREDENTIAL)
    for length, status in ((64, 200), (65, 422)):
        assert agent.post("/agent/v1/report", json={**told, "digest": "d" * length}).status_code == status


@pytest.mark.parametrize(
    ("door", "pace"),
    [
        ({"state": "shut", "in_force": True, "connections": 0}, AT_REST),
        ({"state": "open", "in_force": True}, AT_REST),
        ({"state": "shut", "in_force": True, "connections": 2}, AT_WORK),
        ({"state": "shut", "in_force": False, "problem": "no nft"}, AT_WORK),
    ],
)
def test_a_door_that_is_not_as_it_was_ordered_is_asked_after_closely(door: dict[str, Any], pace: ReportPace) -> None:
    party = Party()
    party.report(door={"pair": "p1", "epoch": 1, **door})
    assert party.paces.of(party.house.view()) is pace
