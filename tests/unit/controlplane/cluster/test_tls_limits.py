"""What brokers copy by TLS: by their machines and fetchers, and nothing in plaintext."""

from dataclasses import replace

import pytest

from controlplane.cluster.planner_state import catalogue_capacity
from controlplane.cluster.tls_limits import pool_tls_bytes_per_s, tls_limits
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import BORN_PLAIN, BORN_TLS, SecurityView, at_rest
from controlplane.converger.tick.act import drain_request
from planner.drain.request import NO_TLS
from tests.builders import a_document, a_drain, a_snapshot, a_view
from tests.changed_view import changed_view
from tests.unit.controlplane.cluster.test_hardware import on


def secured(view: ClusterView, security: SecurityView = BORN_TLS) -> ClusterView:
    return changed_view(view, security=security)


def with_fetchers(view: ClusterView, fetchers: str) -> ClusterView:
    instances = {
        key: replace(i, planned=replace(i.planned, settings={"num.replica.fetchers": fetchers}))
        for key, i in view.instances.items()
    }
    return replace(view, instances=instances)


def test_fetchers_and_processors_of_each_machine() -> None:
    limits = tls_limits(secured(with_fetchers(on("aws", "m7g.2xlarge"), "2")))
    assert set(limits.into.values()) == {240e6}
    assert set(limits.out.values()) == {4 * 1e9 / 3.5}
    assert limits.told == (
        "TLS between brokers: brokers 1000, 1001, 1002 take 228.9 MiB/s and give 1.1 GiB/s at most, by 2 fetchers and "
        "8 processors (measured of Kafka 4.2.0, docs/planning.md)",
    )


def test_of_a_machine_that_nobody_knows_the_fetchers_alone_count_and_that_is_said() -> None:
    limits = tls_limits(secured(on("aws", "z9.nobody-knows")))
    assert (set(limits.into.values()), limits.out) == ({120e6}, {})
    assert "by 1 fetcher alone, as nobody knows how many processors there are" in limits.told[0]


@pytest.mark.parametrize(
    ("security", "is_held"),
    [
        (BORN_PLAIN, False),
        (at_rest(3), False),
        (SecurityView(3, 4, 4), True),
        (SecurityView(3, 4, 3), True),
        (at_rest(4), True),
        (BORN_TLS, True),
    ],
)
def test_it_counts_from_the_first_broker_that_speaks_tls_to_others(security: SecurityView, is_held: bool) -> None:
    assert (tls_limits(secured(on("aws", "m7g.2xlarge"), security)) != NO_TLS) is is_held


def test_a_drain_is_asked_for_with_them() -> None:
    view = secured(on("aws", "m7g.2xlarge"))
    asked = drain_request(view, a_drain(), a_snapshot())
    assert asked.tls == tls_limits(view)
    assert drain_request(on("aws", "m7g.2xlarge"), a_drain(), a_snapshot()).tls == NO_TLS


def test_a_state_for_rebalances_and_exports_has_them() -> None:
    plain = catalogue_capacity(a_view()).by_broker[1000]
    held = catalogue_capacity(secured(with_fetchers(a_view(), "1")))
    ours = held.by_broker[1000]
    assert plain.ingress_bytes_per_s is not None
    assert ours.ingress_bytes_per_s is not None
    assert ours.ingress_bytes_per_s < plain.ingress_bytes_per_s
    assert "TLS between brokers" in held.by_broker_words


def test_a_plan_reckons_with_what_the_brokers_of_a_pool_will_take() -> None:
    document = a_document()
    pool = next(pool for pool in document.spec.pools if pool.is_broker)
    assert pool_tls_bytes_per_s(document, pool) is None
    spec = document.spec.model_copy(update={"security": document.spec.security.model_copy(update={"internal": "tls"})})
    assert pool_tls_bytes_per_s(document.model_copy(update={"spec": spec}), pool) == pytest.approx(80.6e6, rel=1e-3)
