"""Notices for chat, pagers, Alertmanager and mail: what goes over the wire, held against what their documents say."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from controlplane.background.notifications.binding import NotifierBinding, SmtpBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.notifier import notifier_of
from controlplane.background.notifications.slack import MOST_CHARACTERS, message
from controlplane.runtime.egress import Egress
from tests.contract.test_notifiers import CANARY, NOTICE, Ear, ear
from tests.oidc_server import free_port

__all__ = ["ear"]

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
GRAVE = replace(NOTICE, id="event-2", anomaly="orders-2", kind="disk-failure", state="waiting", severity="critical")
OVER = replace(GRAVE, id="event-3", state="over", at=NOW + timedelta(minutes=9))


def sent_by(ear: Ear, *notices: Notice, **binding: Any) -> list[Any]:
    notifier = notifier_of(NotifierBinding(name="it", **binding), lambda: NOW, Egress())
    notifier.tell(notices)
    notifier.close()
    return [json.loads(body) for _, body in ear.heard]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(f"{CANARY}\n")
    return file


def test_slack_gets_one_message_with_a_section_for_each_notice(ear: Ear) -> None:
    (body,) = sent_by(ear, NOTICE, GRAVE, OVER, kind="slack", url=ear.url)
    assert body["text"] == "orders: slow-broker of brokers-a-0 is healing: produce 200 ms. led off (and 2 more)"
    texts = [block["text"] for block in body["blocks"]]
    assert all(text["type"] == "mrkdwn" for text in texts)
    assert [text["text"].split()[0] for text in texts] == [
        ":large_orange_circle:", ":red_circle:", ":large_green_circle:",
    ]  # fmt: skip


def test_what_kafka_says_calls_nobody_in_slack_and_no_text_is_too_long_for_it() -> None:
    body = message([replace(NOTICE, reason="<!channel> & <@U1>", words="x" * 2 * MOST_CHARACTERS)] * 60)
    assert "<!channel>" not in json.dumps(body)
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in str(body["text"])
    blocks = body["blocks"]
    assert isinstance(blocks, list)
    assert max(len(block["text"]["text"]) for block in blocks) <= MOST_CHARACTERS
    assert len(blocks) <= 50
    assert blocks[-1]["text"]["text"] == "and 20 more"


def test_pagerduty_gets_an_incident_of_one_key_and_its_end(ear: Ear, key: Path) -> None:
    ear.status = 202
    first, last = sent_by(ear, GRAVE, OVER, kind="pagerduty", url=ear.url, secret_file=key)
    assert (first["routing_key"], first["event_action"], last["event_action"]) == (CANARY, "trigger", "resolve")
    assert first["dedup_key"] == last["dedup_key"] == "kedge/orders/orders-2"
    payload = first["payload"]
    assert payload["severity"] in ("critical", "error", "warning", "info")
    assert (payload["severity"], payload["source"], payload["component"]) == ("critical", "orders", "brokers-a-0")
    assert 0 < len(payload["summary"]) <= 1024
    assert datetime.fromisoformat(payload["timestamp"]) == NOW
    assert CANARY not in json.dumps(payload)


def test_pagerduty_is_called_where_its_document_says_unless_the_settings_say_elsewhere(key: Path) -> None:
    binding = NotifierBinding(name="it", kind="pagerduty", secret_file=key)
    assert binding.where == "events.pagerduty.com"
    notifier = notifier_of(binding, lambda: NOW, Egress(resolve=lambda host, port: ["169.254.1.1"]))
    with pytest.raises(NotDelivered, match=r"events\.pagerduty\.com"):
        notifier.tell([GRAVE])
    notifier.close()


def test_alertmanager_gets_alerts_whose_labels_stay_and_whose_end_is_told(ear: Ear) -> None:
    ear.status = 200
    ((first, second),) = sent_by(ear, NOTICE, GRAVE, OVER, kind="alertmanager", url=ear.url)
    assert ear.paths == [f"/{CANARY}/api/v2/alerts"]
    assert first["labels"]["alertname"] == "KedgeAnomaly"
    assert {type(v) for v in (*first["labels"].values(), *first["annotations"].values())} == {str}
    assert "" not in first["labels"].values(), "an empty label is none"
    assert datetime.fromisoformat(first["endsAt"]) == NOW + timedelta(minutes=5)
    assert datetime.fromisoformat(second["endsAt"]) == OVER.at
    ear.heard.clear()
    ((before,),) = sent_by(ear, GRAVE, kind="alertmanager", url=f"{ear.url}/")
    assert before["labels"] == second["labels"]
    assert before["startsAt"] == second["startsAt"]


@pytest.mark.parametrize("kind", ["slack", "alertmanager", "pagerduty"])
def test_a_service_that_says_no_is_not_told_and_its_url_is_not_repeated(ear: Ear, key: Path, kind: str) -> None:
    ear.status = 403
    with pytest.raises(NotDelivered, match="answered 403") as refused:
        sent_by(ear, GRAVE, kind=kind, url=ear.url, secret_file=key)
    assert CANARY not in str(refused.value)


class Mailbox:
    """What a mail server took."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], bytes]] = []
        self.refuses = ""

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refuses:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        self.mails.append((list(envelope.rcpt_tos), envelope.content))
        return "250 taken"


def signed_in(server: object, session: object, envelope: object, mechanism: str, auth: object) -> AuthResult:
    good = isinstance(auth, LoginPassword) and (auth.login, auth.password) == (b"kedge", CANARY.encode())
    return AuthResult(success=good, handled=good)


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    box = Mailbox()
    port = free_port()
    server = Controller(
        box,
        hostname="127.0.0.1",
        port=port,
        authenticator=signed_in,
        auth_require_tls=False,
        ready_timeout=30,
    )
    server.start()
    yield box, port
    server.stop()


def mail_to(port: int, **values: Any) -> SmtpBinding:
    ends = {"sender": "kedge@example.com", "recipients": ("ops@example.com", "ada@example.com")}
    return SmtpBinding(**{"host": "127.0.0.1", "port": port, "security": "none", **ends, **values})


def test_a_mail_has_all_notices_and_goes_to_everybody_once(mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    odd = replace(GRAVE, reason="two\nlines: ä")
    notifier = notifier_of(NotifierBinding(name="it", kind="smtp", smtp=mail_to(port)), lambda: NOW, Egress())
    notifier.tell([NOTICE, odd])
    notifier.tell([replace(odd, state="over")])
    notifier.tell([replace(NOTICE, severity="info"), replace(odd, state="over"), replace(NOTICE, severity="warning")])
    (everybody, first), (_, last), (_, mixed) = box.mails
    assert everybody == ["ops@example.com", "ada@example.com"]
    mail = message_from_bytes(first, policy=policy.default)
    assert mail["Subject"] == "[Kedge critical] orders: 2 notices"
    assert mail["Auto-Submitted"] == "auto-generated"
    body = mail.get_content()
    assert NOTICE.sentence in body
    assert odd.sentence.splitlines() == [line for line in body.splitlines() if line in odd.sentence.splitlines()]
    worst = message_from_bytes(mixed, policy=policy.default)["Subject"]
    assert worst == "[Kedge warning] orders: 3 notices", "the worst of what is still so"
    over = message_from_bytes(last, policy=policy.default)
    assert over["Subject"].startswith("[Kedge resolved] orders: disk-failure of brokers-a-0 is over: two lines: ä")


def test_a_mail_server_takes_the_password_of_the_file(mailbox: tuple[Mailbox, int], key: Path) -> None:
    box, port = mailbox
    binding = NotifierBinding(name="it", kind="smtp", smtp=mail_to(port, user="kedge"), secret_file=key)
    notifier = notifier_of(binding, lambda: NOW, Egress())
    notifier.tell([GRAVE])
    assert len(box.mails) == 1
    key.write_text("another")
    with pytest.raises(NotDelivered, match="refused the credentials of kedge"):
        notifier.tell([GRAVE])


def test_a_recipient_the_server_refuses_is_named_and_the_mail_is_sent_again(mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    box.refuses = "ada@example.com"
    notifier = notifier_of(NotifierBinding(name="it", kind="smtp", smtp=mail_to(port)), lambda: NOW, Egress())
    with pytest.raises(NotDelivered, match=r"refused ada@example\.com"):
        notifier.tell([GRAVE])


def test_a_mail_server_that_offers_no_encryption_gets_no_mail_where_it_is_asked_for(
    mailbox: tuple[Mailbox, int],
) -> None:
    box, port = mailbox
    for security in ("starttls", "tls"):
        smtp = mail_to(port, security=security)
        notifier = notifier_of(NotifierBinding(name="it", kind="smtp", smtp=smtp), lambda: NOW, Egress(), timeout_s=2)
        with pytest.raises(NotDelivered):
            notifier.tell([GRAVE])
    assert box.mails == []


def test_a_mail_server_that_is_not_there_or_may_not_be_called_is_said_so() -> None:
    away = NotifierBinding(name="it", kind="smtp", smtp=mail_to(9))
    with pytest.raises(NotDelivered, match=r"127\.0\.0\.1:9 did not answer"):
        notifier_of(away, lambda: NOW, Egress()).tell([GRAVE])
    smtp = mail_to(25, host="mx.example.com", security="starttls")
    egress = Egress(resolve=lambda host, port: ["169.254.169.254"])
    with pytest.raises(NotDelivered, match="never called"):
        notifier_of(NotifierBinding(name="it", kind="smtp", smtp=smtp), lambda: NOW, egress).tell([GRAVE])
