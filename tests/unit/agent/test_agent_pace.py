"""When reports go to the server: a change at once, everything else when it was asked for."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.inbox import ReportOutbox
from agent.pace import LONGEST_S, WHOLE_WITHIN_S, asked_within, digest_of
from agent.wire import Report
from tests.unit.agent.test_agent_talk import Party, report

AT = "2026-01-01T00:00:00Z"
SERVICE: dict[str, Any] = {
    "name": "broker",
    "state": "running",
    "start_id": "s1",
    "since": AT,
    "log_dirs": [{"name": "data", "total_bytes": 1000, "free_bytes": 500, "partitions": 3}],
    "metrics": {"heap_used": 1.0, "unexpected_exits": 0.0},
}
FINDING = {"name": "deadlock", "since": AT, "message": "2 threads", "numbers": {"threads": 2}}
BEAT = {"broker": 1001, "beats": 30, "silent_s": 0.5, "produce_p50_s": 0.002}


def told(seq: int = 1, service: dict[str, Any] | None = None, **changes: Any) -> Report:
    whole = {
        "cluster_uid": "c1",
        "node": "n",
        "generation": 1,
        "boot_id": "b",
        "seq": seq,
        "at": AT,
        "agent_version": "0",
        "epoch": 1,
        "services": [{**SERVICE, **(service or {})}],
        "heartbeats": [BEAT],
        **changes,
    }
    return Report.model_validate(whole)


@pytest.mark.parametrize(
    "changed",
    [
        {"service": {"state": "stopped"}},
        {"service": {"pid": 7}},
        {"service": {"findings": [FINDING]}},
        {"service": {"metrics": {"unexpected_exits": 1.0}}},
        {"service": {"certificate": {"serial": "1", "until": AT, "issuer": "a", "believes": []}}},
        {"service": {"log_dirs": [{"name": "data", "total_bytes": 1000, "free_bytes": 300, "partitions": 3}]}},
        {"heartbeats": [{**BEAT, "silent_s": 30.0}]},
        {"preemption": {"kind": "rebalance", "since": AT}},
        {"message": "refused"},
        {"epoch": 2},
        {"attachments": ["v1"]},
    ],
)
def test_states_findings_outcomes_and_certificates_are_changes(changed: dict[str, Any]) -> None:
    assert digest_of(told()) != digest_of(told(**changed))


@pytest.mark.parametrize(
    "measured",
    [
        {"seq": 2},
        {"at": "2026-01-01T00:00:03Z"},
        {"service": {"metrics": {"heap_used": 2.0, "unexpected_exits": 0.0}}},
        {"service": {"log_dirs": [{"name": "data", "total_bytes": 1000, "free_bytes": 495, "partitions": 4}]}},
        {"service": {"log_lines": {"error": 1}}},
        {"heartbeats": [{**BEAT, "silent_s": 1.5, "produce_p50_s": 0.004}]},
    ],
)
def test_measurements_are_none(measured: dict[str, Any]) -> None:
    assert digest_of(told()) == digest_of(told(**measured))


def test_the_same_finding_in_other_numbers_is_the_same_finding() -> None:
    found, later = ({**FINDING, "message": words, "numbers": {"threads": n}} for words, n in (("2", 2), ("3", 3)))
    assert digest_of(told(service={"findings": [found]})) == digest_of(told(service={"findings": [later]}))


def test_a_server_that_asks_for_no_pace_gets_every_report_and_none_silences_an_agent() -> None:
    assert [asked_within(asked, 3.0) for asked in (None, 0.0, 30.0, 1e9)] == [3.0, 3.0, 30.0, LONGEST_S]


class Sent:
    """An agent makes a report every 3 s; `after` says in which second which were sent, and whether measured."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.outbox = ReportOutbox(every_s=3.0, clock=lambda: self.now_s)

    def until(self, end_s: float, digest: str = "d") -> list[tuple[float, bool]]:
        sent = []
        while self.now_s < end_s:
            self.outbox.put(report(int(self.now_s)).model_copy(update={"digest": digest}))
            out = self.outbox.wait(0.0)
            sent += [(self.now_s, out.is_measured)] if out is not None else []
            self.now_s += 3.0
        return sent


def test_by_itself_an_agent_sends_all_it_makes_measured() -> None:
    assert Sent().until(12) == [(0, True), (3, True), (6, True), (9, True)]


def test_at_the_pace_asked_for_it_sends_less_and_measurements_within_a_minute() -> None:
    agent = Sent()
    agent.outbox.ask(30)
    assert agent.until(100) == [(0, True), (30, False), (60, True), (90, False)]
    assert WHOLE_WITHIN_S < 60


def test_a_change_and_a_faster_pace_are_due_at_once() -> None:
    agent = Sent()
    agent.outbox.ask(30)
    agent.until(6)
    assert agent.until(12, "other") == [(6, True)]
    agent.outbox.ask(3)
    assert agent.outbox.wait(0.0) is not None, "the one made meanwhile"
    assert agent.until(18, "other") == [(12, True), (15, True)]


def test_what_did_not_arrive_is_due_again_whole() -> None:
    agent = Sent()
    agent.outbox.ask(30)
    agent.until(33)
    agent.outbox.again()
    assert agent.until(40) == [(33, True)]


# --- with a server ----------------------------------------------------------------------------------------------------


@pytest.fixture
def party(tmp_path: Path) -> Party:
    one = Party(tmp_path)
    one.credential.keep_enrolled()
    return one


def _sends(party: Party, seconds: float, *seqs: int, digest: str = "d1") -> list[str]:
    """The calls of so many reports, each `seconds` after the one before."""
    party.server.calls.clear()
    for seq in seqs:
        party.server.now_s += seconds
        party.outbox.put(report(seq).model_copy(update={"digest": digest}))
        party.reports.step()
    return party.server.calls


def _answers(party: Party, what: str, **said: Any) -> None:
    party.server.answers[what] = httpx.Response(200, json=said)


def test_a_server_that_paces_hears_the_digest_of_what_it_has(party: Party) -> None:
    _answers(party, "report", next_s=30)
    _answers(party, "unchanged", next_s=30)
    assert _sends(party, 30, 1, 2, 3, 4) == ["report", "unchanged", "report", "unchanged"]
    assert _sends(party, 3, 5, 6) == []
    assert _sends(party, 3, 7, digest="d2") == ["report"]


def test_a_server_that_does_not_know_the_digest_gets_the_whole_report_next(party: Party) -> None:
    _answers(party, "report", next_s=30)
    _answers(party, "unchanged", next_s=30, whole=True)
    assert _sends(party, 30, 1, 2) == ["report", "unchanged"]
    assert _sends(party, 3, 3) == ["report"]


def test_a_server_of_before_there_were_paces_gets_whole_reports_every_3_s(party: Party) -> None:
    assert _sends(party, 3, 1, 2, 3) == ["report", "report", "report"]


def test_a_server_that_was_set_back_to_one_of_before_is_sent_whole_reports_again(party: Party) -> None:
    _answers(party, "report", next_s=30)
    party.server.answers["unchanged"] = httpx.Response(404)
    assert _sends(party, 30, 1, 2) == ["report", "unchanged"]
    _answers(party, "report", accepted=True)
    assert _sends(party, 3, 3, 4) == ["report", "report"]


def test_the_question_that_is_held_names_the_pace_and_brings_a_faster_one(party: Party) -> None:
    party.outbox.ask(30)
    party.documents.step()
    party.server.answers["document"] = httpx.Response(304, headers={"X-Kedge-Report-In": "3"})
    party.documents.step()
    party.documents.step()
    assert party.server.paces == ["30", "30", "3"]


def test_a_slower_pace_counts_once_a_question_names_it(party: Party) -> None:
    """The server answers at once, when work begins, only who named a slower pace than it wants by then."""
    party.documents.step()
    _answers(party, "report", next_s=30)
    assert _sends(party, 3, 1, 2, 3) == ["report", "report", "report"], "the question that is held names 3 s"
    party.documents.step()
    assert party.server.paces == ["3", "30"]
    assert _sends(party, 3, 4, 5) == []
    assert _sends(party, 30, 6) != []


@pytest.mark.parametrize("told_in", ["soon", "-3", "1e3", ""])
def test_a_pace_that_is_no_number_of_seconds_changes_nothing(party: Party, told_in: str) -> None:
    party.outbox.ask(30)
    party.server.answers["document"] = httpx.Response(304, headers={"X-Kedge-Report-In": told_in})
    party.documents.step()
    assert party.outbox.asked_s == 30
