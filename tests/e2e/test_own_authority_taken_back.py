"""The operator's own CA of a living cluster is replaced by another one of the operator's, and in the middle of it taken
back, under traffic: the one before signs and is believed again, and nothing that was acknowledged is lost."""

from pathlib import Path

import pytest

from tests.e2e.authorities import WITHIN_S, Replacement, is_let_in, over_tls
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.operators_ca import LEDGER, TLS, Operator, living, nodes_are_of, root_of, traffic_of

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1800)]


def test_back_in_the_middle_of_a_replacement_is_the_ca_of_before(tmp_path: Path) -> None:
    """Two nodes have certificates of the new one by then."""
    operator = Operator.at(tmp_path / "corporate")
    with living(tmp_path / "home", operator) as cluster:
        _taken_back(cluster, operator)


def _taken_back(cluster: LivingCluster, operator: Operator) -> None:
    operator.brings_the_second()
    replacement = Replacement(cluster)
    with traffic_of(cluster, over_tls(operator.believed), TLS):
        at = replacement.begin()
        replacement.reaches("trust-both", at)
        at = replacement.go_on()
        for _ in range(2):
            at = cluster.event("restart.completed", at, within_s=WITHIN_S).position
        at = replacement.go_back()
        replacement.reaches("trust-both", at)
        at = replacement.go_back()
        replacement.reaches("old-alone", at)
        settled(cluster, within_s=300)
    nodes_are_of(cluster, operator.first)
    assert not is_let_in(cluster, over_tls(root_of(operator.second)), LEDGER, TLS)
