"""The exchanges with the server, one step at a time, without threads."""

from functools import partial
from pathlib import Path

import httpx
import pytest

from agent.backoff import Backoff, doubled_s
from agent.client import NewDocument, ServerClient
from agent.credential import CredentialFiles
from agent.identity import enrol_request, identity_of
from agent.inbox import Inbox, ReportOutbox
from agent.rotation import Rotation
from agent.talk import DocumentTalk, ReportTalk
from agent.wire import Report
from tests.unit.agent.wanted import boot_data


class Server:
    """Answers by path; keeps the order of calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.etags: list[str] = []
        self.waits: list[str] = []
        self.paces: list[str] = []
        self.answers: dict[str, httpx.Response] = {}
        self.now_s, self.late_s = 0.0, 0.0

    def handle(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rsplit("/", 1)[1]
        self.calls.append(name)
        self.now_s += self.late_s
        self.waits += [request.url.params["wait_s"]] if name == "document" else []
        self.paces += [request.url.params.get("report_s", "")] if name == "document" else []
        self.etags += [request.url.params["etag"]] if name == "document" else []
        return self.answers.get(name, httpx.Response(200, content=b"{}", headers={"ETag": '"9"'}))


class Party:
    def __init__(self, state: Path) -> None:
        self.server, self.inbox = Server(), Inbox()
        self.outbox = ReportOutbox(every_s=3.0, clock=lambda: self.server.now_s)
        self.credential = CredentialFiles(state)
        client = ServerClient(
            "http://127.0.0.1:1", identity_of(boot_data(), "s"), transport=httpx.MockTransport(self.server.handle)
        )
        self.documents = DocumentTalk(
            client=client,
            credential=self.credential,
            enrolment=partial(enrol_request, boot_data()),
            inbox=self.inbox,
            backoff=Backoff(1.0, 8.0, jitter=lambda: 1.0),
            etag="4",
            wait_s=20,
            clock=lambda: self.server.now_s,
            outbox=self.outbox,
        )
        backoff = Backoff(1.0, 8.0, jitter=lambda: 1.0)
        self.reports = ReportTalk(
            client=client,
            credential=self.credential,
            rotation=Rotation(boot_data(), client=client, credential=self.credential),
            outbox=self.outbox,
            inbox=self.inbox,
            backoff=backoff,
        )


@pytest.fixture
def party(tmp_path: Path) -> Party:
    return Party(tmp_path)


def report(seq: int) -> Report:
    return Report(
        cluster_uid="c1",
        node="brokers-a-0",
        generation=2,
        boot_id="b",
        seq=seq,
        at="2026-01-01T00:00:00Z",
        agent_version="0",
        epoch=1,
        services=(),
    )


def test_enrolment_comes_first_and_once(party: Party) -> None:
    party.documents.step()
    party.documents.step()
    assert party.server.calls == ["enrol", "document", "document"]


def test_a_document_is_handed_over_and_its_etag_asked_for_next(party: Party) -> None:
    party.documents.step()
    assert party.inbox.take().document == NewDocument(b"{}", "9")
    assert party.inbox.take().document is None
    party.documents.step()
    assert party.server.etags == ["", "9"], "who has just begun hears the newest, and no word that the kept one counts"


def test_what_a_held_question_brings_is_asked_for_once_more_before_it_is_taken(party: Party) -> None:
    party.documents.step()
    party.inbox.take()
    party.server.late_s = 10.5
    party.documents.step()
    assert party.inbox.take().document is None, "it may have lain about"
    party.server.late_s = 9.5
    party.documents.step()
    assert party.inbox.take().document == NewDocument(b"{}", "9")
    party.documents.step()
    assert party.server.etags == ["", "9", "9", "9"]
    assert party.server.waits == ["0", "20", "0", "20"]


def test_an_unreachable_server_is_asked_ever_more_rarely_and_said(party: Party) -> None:
    party.server.answers["document"] = httpx.Response(503)
    assert [party.documents.step() for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert "HTTP 503" in party.inbox.take().problem
    del party.server.answers["document"]
    party.documents.step()
    assert party.inbox.take().problem == ""


def test_a_lost_credential_is_said_and_ends_nothing(party: Party) -> None:
    party.server.answers["document"] = httpx.Response(401)
    assert party.documents.step() > 5
    assert "HTTP 401" in party.inbox.take().problem
    assert not party.inbox.take().retired
    assert not party.documents.is_over


@pytest.mark.parametrize("where", ["enrol", "document"])
def test_gone_means_retired_and_ends_the_talk(party: Party, where: str) -> None:
    party.server.answers[where] = httpx.Response(410)
    party.documents.step()
    assert party.inbox.take().retired
    assert party.documents.is_over


def test_only_the_latest_report_is_sent_and_not_before_enrolment(party: Party) -> None:
    party.outbox.put(report(1))
    party.reports.step()
    assert party.server.calls == []
    party.credential.keep_enrolled()
    party.outbox.put(report(2))
    party.outbox.put(report(3))
    assert party.reports.step() == 0.0
    assert party.server.calls == ["report"]


def test_a_report_that_is_not_taken_is_no_end(party: Party) -> None:
    party.credential.keep_enrolled()
    for status, at_least in ((503, 1.0), (401, 5.0), (410, 5.0)):
        party.server.answers["report"] = httpx.Response(status)
        party.outbox.put(report(1))
        assert party.reports.step() >= at_least
    assert party.inbox.take().retired, "a 410 is believed wherever it is said"


def test_pauses_double_up_to_a_cap() -> None:
    assert [doubled_s(0.5, 60, n) for n in (1, 2, 3, 8, 900)] == [0.5, 1.0, 2.0, 60, 60]


def test_an_agent_the_server_lost_enrols_again_with_the_same_secret(party: Party) -> None:
    party.documents.step()
    assert party.server.calls == ["enrol", "document"]
    party.server.answers["document"] = httpx.Response(401)
    party.documents.step()
    assert not party.credential.is_enrolled
    del party.server.answers["document"]
    party.documents.step()
    assert party.server.calls == ["enrol", "document", "document", "enrol", "document"]
    assert party.credential.is_enrolled


def test_an_agent_that_may_not_enrol_again_keeps_asking_rarely(party: Party) -> None:
    party.credential.keep_enrolled()
    party.server.answers = {"document": httpx.Response(401), "enrol": httpx.Response(403)}
    pauses = [party.documents.step() for _ in range(3)]
    assert min(pauses) >= 15
    assert party.server.calls == ["document", "enrol", "enrol"]


def test_a_server_that_says_when_to_come_back_is_obeyed_with_jitter(party: Party) -> None:
    party.server.answers["document"] = httpx.Response(503, headers={"Retry-After": "30"})
    assert party.documents.step() == 45.0, "no sooner than asked, and up to half as long again"
    party.server.answers["report"] = httpx.Response(503, headers={"Retry-After": "30"})
    party.outbox.put(report(1))
    party.documents.step()
    assert party.reports.step() == 45.0


def test_jitter_spreads_those_who_were_sent_away_together() -> None:
    pauses = {Backoff(0.5, 10.0, jitter=partial(float, n / 10)).next_s(after_s=30) for n in range(11)}
    assert (min(pauses), max(pauses), len(pauses)) == (30.0, 45.0, 11)


@pytest.mark.parametrize("told", ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "1e9", "soon", "99999999999999999999"])
def test_a_retry_after_that_is_no_number_of_seconds_is_ignored(party: Party, told: str) -> None:
    party.server.answers["document"] = httpx.Response(503, headers={"Retry-After": told})
    assert party.documents.step() == 1.0


def test_no_answer_silences_an_agent_for_longer_than_ten_minutes(party: Party) -> None:
    party.server.answers["document"] = httpx.Response(503, headers={"Retry-After": "86400"})
    assert party.documents.step() == 900.0
