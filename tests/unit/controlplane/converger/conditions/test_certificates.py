"""`CertificateEnding`: a service that is not started anew in time is named long before its certificate ends."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from agent.wire import CertificateReport, ServiceReport
from agent.wire_tls import ServedCertificate
from controlplane.cluster.condition_severity import Severity, severity_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ConditionView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView, CertificateView
from controlplane.converger.conditions.certificates import (
    LOOK_EVERY,
    CertificateWatch,
    certificate_ending,
    certificate_not_served,
)
from controlplane.converger.situation.situation import Situation
from events import facts
from tests.builders import BEFORE, NOW, a_report, a_situation, a_view, an_instance

KEY = "brokers-a-0.g1"
YEAR = timedelta(days=365)


def certificate(age: timedelta) -> CertificateView:
    return CertificateView("1f", NOW - age, NOW - age + YEAR)


def test_a_cluster_without_certificates_is_told_nothing() -> None:
    assert certificate_ending(a_situation(a_view())) is None


@pytest.mark.parametrize(
    ("name", "told"), [("CertificateEnding", certificate_ending), ("CertificateNotServed", certificate_not_served)]
)
def test_what_was_told_of_certificates_is_over_once_nodes_speak_plaintext_again(
    name: str, told: Callable[[Situation], facts.ConditionChanged | None]
) -> None:
    known = a_view(conditions={name: ConditionView(True, "Other", "shown before", BEFORE)})
    assert told(a_situation(known)) == facts.ConditionChanged(name, False, "Free", "")


@pytest.mark.parametrize(("days", "reason"), [(273, ""), (274, "Ending"), (364, "Ending"), (365, "Over")])
def test_it_is_told_a_month_after_it_was_due(days: int, reason: str) -> None:
    found = certificate_ending(a_situation(a_view(certificates={KEY: certificate(timedelta(days=days))})))
    assert found is not None
    assert (found.status, found.reason) == ((True, reason) if reason else (False, "Free"))
    if reason:
        assert KEY in found.message
        assert found.message.endswith("Next: kedge restart orders --rolling")


def test_who_leaves_is_not_named() -> None:
    view = a_view(an_instance("brokers-a-0", 1, Phase.RETIRING), certificates={KEY: certificate(timedelta(days=300))})
    found = certificate_ending(a_situation(view))
    assert found is not None
    assert not found.status


def test_one_that_is_over_is_a_matter_of_now() -> None:
    assert severity_of("CertificateEnding", "Ending") is Severity.WARNING
    assert severity_of("CertificateEnding", "Held") is Severity.CRITICAL
    assert severity_of("CertificateEnding", "Over") is Severity.CRITICAL


# --- what is shown ------------------------------------------------------------------------------------------------

OWN = "1f"


def told(*served: str, serial: str = OWN, until: datetime = NOW + YEAR, state: str = "running") -> ServiceReport:
    """What the agent says of a service that was started with `serial`, and whose listeners show `served`."""
    listeners = [ServedCertificate(listener=f"L{n}", port=n, serial=s, at=NOW) for n, s in enumerate(served)]
    report = CertificateReport(serial=serial, until=until, issuer="a", believes=("a",), served=tuple(listeners))
    found = a_report(an_instance(), state, certificate=report).report.services[0]
    assert found.certificate is not None
    return found


def not_served(report: ServiceReport | None) -> facts.ConditionChanged | None:
    view = a_view(certificates={KEY: certificate(timedelta())})
    return certificate_not_served(a_situation(view, certificates={KEY: report} if report else {}))


def test_another_certificate_than_that_of_the_start_is_named() -> None:
    found = not_served(told(OWN, "2e"))
    assert found is not None
    assert (found.status, found.reason) == (True, "Other")
    assert f"{KEY} at L1." in found.message


@pytest.mark.parametrize("report", [told(OWN, OWN), told(), told(OWN, ""), told("2e", state="stopping")])
def test_what_nobody_has_seen_is_not_told(report: ServiceReport) -> None:
    found = not_served(report)
    assert found is not None
    assert not found.status


def test_before_anybody_has_looked_nothing_is_said_of_it() -> None:
    assert not_served(None) is None


def test_a_service_that_was_started_with_what_it_had_ends_when_that_ends() -> None:
    """The control plane signed another one, and the answer never came."""
    view = a_view(certificates={KEY: certificate(timedelta())})
    old = told("2e", serial="2e", until=NOW + timedelta(days=20))
    found = certificate_ending(a_situation(view, certificates={KEY: old}))
    assert found is not None
    assert (found.status, found.reason) == (True, "Ending")
    assert f"{KEY} until 2026-01-21" in found.message


# --- how often it is looked ---------------------------------------------------------------------------------------


def test_a_cluster_at_rest_is_looked_at_once_in_some_minutes_and_one_in_plaintext_never() -> None:
    looks = []

    def heard() -> dict[str, ReportSeen]:
        looks.append(1)
        return {KEY: a_report(an_instance())}

    watch, view = CertificateWatch(), a_view(certificates={KEY: certificate(timedelta())})
    assert not watch.look(a_view(), NOW, heard)
    for seconds in (0, 60, 299):
        assert watch.look(view, NOW + timedelta(seconds=seconds), heard).keys() == {KEY}
    assert len(looks) == 1
    watch.look(view, NOW + LOOK_EVERY, heard)
    assert len(looks) == 2
    change = AuthorityReplacementView("ca-1", "cluster", AuthorityPhase.TRUST_BOTH, NOW, "asked by anna")
    at_work = a_view(certificates={KEY: certificate(timedelta())}, authority_change=change)
    for _ in range(2):
        watch.look(at_work, NOW + LOOK_EVERY, heard)
    assert len(looks) == 4
