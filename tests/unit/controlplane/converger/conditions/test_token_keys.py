"""`TokenKeysStale`: brokers that judge tokens by keys of some time ago are named, and why they have no others."""

from datetime import timedelta

from agent.wire import ServiceReport, TokenKeysReport
from controlplane.cluster.condition_severity import Severity, severity_of
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.converger.conditions.token_keys import token_keys_stale
from events import facts
from events.spec.client_security import ClientSecurity
from events.spec.security import Authentication, Listener
from tests.builders import BEFORE, NOW, a_situation, a_view, an_instance

KEY = "brokers-a-0.g1"
TOKENS = Listener(name="TOKENS", port=9098, security="tls", authentication=Authentication(type="oauth"))
TAKES_TOKENS = a_view(an_instance("brokers-a-0", security=ClientSecurity(listeners=(TOKENS,), names="marked")))
AWAY = "https://login.example/certs cannot be fetched: timed out"


def _told(report: TokenKeysReport | None, view: ClusterView = TAKES_TOKENS) -> facts.ConditionChanged | None:
    said = (report,) if report is not None else ()
    service = ServiceReport(name="broker", state="running", start_id="1", since=NOW, token_keys=said)
    return token_keys_stale(a_situation(view, certificates={KEY: service}))


def _fetched(minutes: int, *, problem: str = AWAY) -> TokenKeysReport:
    return TokenKeysReport(listener="TOKENS", keys=2, fetched=NOW - timedelta(minutes=minutes), problem=problem)


def test_brokers_whose_agents_cannot_fetch_the_keys_are_named() -> None:
    found = _told(_fetched(11))
    assert found is not None
    assert (found.status, found.reason) == (True, "Stale")
    assert f"{KEY} at TOKENS" in found.message
    assert AWAY in found.message
    assert severity_of("TokenKeysStale", "Stale") is Severity.WARNING


def test_who_has_no_key_takes_no_token_and_that_is_told_at_once() -> None:
    found = _told(TokenKeysReport(listener="TOKENS", keys=0, problem=AWAY))
    assert found is not None
    assert (found.status, found.reason) == (True, "NoKeys")
    assert severity_of("TokenKeysStale", "NoKeys") is Severity.CRITICAL


def test_a_provider_that_is_away_for_minutes_is_nobodys_business() -> None:
    fine = facts.ConditionChanged("TokenKeysStale", False, "Fetched", "")
    assert _told(_fetched(9)) == _told(_fetched(60, problem="")) == fine


def test_what_nobody_has_said_is_not_told_and_without_such_a_listener_it_is_over() -> None:
    assert _told(None) is None
    assert _told(None, a_view()) is None
    before = a_view(conditions={"TokenKeysStale": ConditionView(True, "Stale", "shown before", BEFORE)})
    assert _told(None, before) == facts.ConditionChanged("TokenKeysStale", False, "Free", "")
