"""Ways of telling somebody: one suite over the webhook on real HTTP, the log and, with brokers, a Kafka topic."""

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered, Notifier
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.notifier import notifier_of
from controlplane.background.notifications.webhook import NOTICE_ID, SIGNATURE, signature
from controlplane.cluster.condition_severity import Severity
from controlplane.runtime.egress import Egress

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MAIL = {"host": "127.0.0.1", "security": "none", "sender": "kedge@example.com", "recipients": ["ops@example.com"]}
CANARY = "canary-5f1d-secret"
NOTICE = Notice(
    id="event-1",
    cluster="orders",
    anomaly="orders-1",
    kind="slow-broker",
    subject="brokers-a-0",
    state="healing",
    reason="produce 200 ms",
    words="led off",
    found_at=NOW,
    at=NOW,
)


@dataclass
class Ear:
    """A web server that hears, or refuses."""

    status: int = 204
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{CANARY}"


@pytest.fixture
def ear() -> Iterator[Ear]:
    found = Ear()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.heard.append((dict(self.headers), body))
            found.paths.append(self.path)
            self.send_response(found.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["webhook", "log"])
def told(request: pytest.FixtureRequest, ear: Ear, caplog: pytest.LogCaptureFixture) -> Iterator[tuple[Notifier, Any]]:
    """The notifier, and a function that says which documents it took."""
    caplog.set_level(logging.WARNING, logger="kedge.notices")
    if request.param == "webhook":
        made = notifier_of(NotifierBinding(name="it", kind="webhook", url=ear.url), lambda: NOW, Egress())
        yield made, lambda: [json.loads(body) for _, body in ear.heard]
    else:
        made = notifier_of(NotifierBinding(name="it", kind="log"), lambda: NOW, Egress())
        yield made, lambda: [json.loads("{" + r.getMessage().split("{", 1)[1]) for r in caplog.records]
    made.close()


def test_a_notice_arrives_whole_and_twice_it_has_the_same_id(told: tuple[Notifier, Any]) -> None:
    notifier, documents = told
    notifier.tell([NOTICE])
    notifier.tell([NOTICE])
    first, second = documents()
    assert first == second == NOTICE.document()
    assert first["id"] == "event-1"
    assert first["text"] == "orders: slow-broker of brokers-a-0 is healing: produce 200 ms. led off"


def test_a_webhook_is_signed_over_time_and_body_with_the_key_of_its_file(ear: Ear, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text(f"{CANARY}\n")
    binding = NotifierBinding(name="it", kind="webhook", url=ear.url, secret_file=key)
    notifier = notifier_of(binding, lambda: NOW, Egress())
    notifier.tell([NOTICE])
    headers, body = ear.heard[0]
    assert headers[SIGNATURE] == signature(SecretStr(CANARY), body, int(NOW.timestamp()))
    assert headers[SIGNATURE] != signature(SecretStr("another"), body, int(NOW.timestamp()))
    assert headers[NOTICE_ID] == "event-1"
    notifier.close()


@pytest.mark.parametrize("status", [302, 403, 500])
def test_an_answer_that_is_no_yes_is_not_told_and_a_redirect_is_not_followed(ear: Ear, status: int) -> None:
    ear.status = status
    notifier = notifier_of(NotifierBinding(name="it", kind="webhook", url=ear.url), lambda: NOW, Egress())
    with pytest.raises(NotDelivered, match=f"answered {status}") as refused:
        notifier.tell([NOTICE])
    assert CANARY not in str(refused.value)
    assert ear.paths == [f"/{CANARY}"]
    notifier.close()


def test_a_webhook_that_is_not_there_says_so_without_its_url(tmp_path: Path) -> None:
    hidden = tmp_path / "url"
    hidden.touch(mode=0o600)
    hidden.write_text(f"http://127.0.0.1:9/{CANARY}")
    notifier = notifier_of(NotifierBinding(name="it", kind="webhook", url_file=hidden), lambda: NOW, Egress())
    with pytest.raises(NotDelivered) as refused:
        notifier.tell([NOTICE])
    assert CANARY not in str(refused.value)
    assert refused.value.__cause__ is None
    notifier.close()


def test_no_log_has_the_url_or_the_key_at_any_level(ear: Ear, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text(CANARY)
    binding = NotifierBinding(name="it", kind="webhook", url=ear.url, secret_file=key)
    notifier = notifier_of(binding, lambda: NOW, Egress())
    notifier.tell([NOTICE])
    ear.status = 500
    with pytest.raises(NotDelivered):
        notifier.tell([NOTICE])
    notifier.close()
    assert len(ear.heard) == 2
    assert CANARY not in caplog.text


def test_a_secret_that_others_can_read_is_not_used(ear: Ear, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(CANARY)
    key.chmod(0o644)
    binding = NotifierBinding(name="it", kind="webhook", url=ear.url, secret_file=key)
    notifier = notifier_of(binding, lambda: NOW, Egress())
    with pytest.raises(NotDelivered, match="chmod 600"):
        notifier.tell([NOTICE])
    assert ear.heard == []
    notifier.close()


def test_a_topic_whose_brokers_are_away_is_not_told_in_time() -> None:
    binding = NotifierBinding(name="it", kind="kafka", bootstrap=("127.0.0.1:9",), topic="alarms")
    notifier = notifier_of(binding, lambda: NOW, Egress(), timeout_s=0.5)
    with pytest.raises(NotDelivered, match=r"alarms at 127\.0\.0\.1:9"):
        notifier.tell([NOTICE])
    notifier.close()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kind": "webhook"}, "one of url and url_file"),
        ({"kind": "webhook", "url": f"http://example.com/{CANARY}"}, "plain HTTP off loopback"),
        ({"kind": "webhook", "url": "ftp://example.com"}, "is none"),
        ({"kind": "kafka", "topic": "alarms"}, "needs bootstrap and topic"),
        ({"kind": "slack"}, "one of url and url_file"),
        ({"kind": "alertmanager"}, "one of url and url_file"),
        ({"kind": "pagerduty"}, "integration key of a service"),
        ({"kind": "smtp"}, "needs smtp"),
        ({"kind": "smtp", "smtp": {**MAIL, "user": "kedge"}}, "both of smtp.user and secret_file"),
        ({"kind": "smtp", "smtp": {**MAIL, "host": "mx.example.com", "security": "none"}}, "unencrypted off loopback"),
        ({"kind": "smtp", "smtp": {**MAIL, "recipients": ["a@b.c\nBcc: d@e.f"]}}, "is not a mail address"),
        ({"kind": "log", "severity": "grave"}, "severity"),
        ({"kind": "log", "group_s": 7200}, "group_s"),
        ({"kind": "log", "name": "Not a name"}, "is not a name"),
        ({"kind": "log", "kinds": ["dreams"]}, "kinds"),
    ],
)
def test_a_notifier_that_cannot_work_is_refused_at_the_start(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        NotifierBinding(**{"name": "it", **values})


def test_what_is_shown_of_a_notifier_is_never_more_than_its_host() -> None:
    shown = NotifierBinding(name="it", kind="webhook", url=f"https://ada:{CANARY}@hooks.example.com/{CANARY}")
    assert shown.where == "hooks.example.com"


def test_a_notifier_is_told_of_its_kinds_and_clusters_alone() -> None:
    binding = NotifierBinding(name="it", kind="log", kinds=("slow-broker",), clusters=("orders",))
    assert binding.wants(NOTICE)
    assert not binding.wants(replace(NOTICE, cluster="payments"))
    assert not binding.wants(replace(NOTICE, kind="disk-failure"))


def test_a_notifier_is_told_of_its_owners_and_from_its_severity_on_alone() -> None:
    oncall = NotifierBinding(name="it", kind="log", owners=("team-a",), severity=Severity.CRITICAL)
    grave = replace(NOTICE, owner="team-a", severity="critical")
    assert oncall.wants(grave)
    assert not oncall.wants(replace(grave, owner="team-b"))
    assert not oncall.wants(replace(grave, severity="warning"))


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "169.254.0.1:8443"])
def test_an_address_where_clouds_tell_a_vm_its_credentials_is_no_notifiers(host: str) -> None:
    with pytest.raises(ValueError, match="link-local"):
        NotifierBinding(name="it", kind="webhook", url=f"https://{host}/latest/meta-data")
    assert NotifierBinding(name="it", kind="webhook", url="https://192.0.2.7/").where == "192.0.2.7"
