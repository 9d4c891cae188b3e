"""`CertificateEnding`: a service that runs for two thirds of its certificate's life is named before that ends."""

from datetime import timedelta

import pytest

from controlplane.cluster.condition_severity import Severity, severity_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.certificates import CertificateView
from controlplane.converger.conditions.certificates import certificate_ending
from tests.builders import NOW, a_situation, a_view, an_instance

KEY = "brokers-a-0.g1"
YEAR = timedelta(days=365)


def certificate(age: timedelta) -> CertificateView:
    return CertificateView("1f", NOW - age, NOW - age + YEAR)


def test_a_cluster_without_certificates_is_told_nothing() -> None:
    assert certificate_ending(a_situation(a_view())) is None


@pytest.mark.parametrize(("days", "reason"), [(243, ""), (244, "Ending"), (364, "Ending"), (365, "Over")])
def test_it_is_told_from_two_thirds_of_its_life_on(days: int, reason: str) -> None:
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
    assert severity_of("CertificateEnding", "Over") is Severity.CRITICAL
