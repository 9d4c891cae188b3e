"""The cluster CA of a living cluster is replaced under traffic: both believed, certificates of the new one, the new one
alone. Nothing that was acknowledged is lost, and the server is killed in between."""

import sqlite3

import pytest
from cryptography import x509

from tests.e2e.authorities import Replacement, ca_of, is_let_in, nodes_show_what_they_were_given, over_tls
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1800)]

SPEC = ClusterSpec(name="sealed", tls=True, controllers=3, join_deadline_s=180)


def _opens(cluster: LivingCluster, ca: str) -> bool:
    """Whether a client that believes this writes a record over TLS."""
    return is_let_in(cluster, over_tls(ca), "over-tls", 9094)


def test_another_ca_takes_its_place_under_traffic(living_cluster: LivingCluster) -> None:
    cluster, replacement = living_cluster, Replacement(living_cluster)
    create_topic(cluster.bootstrap(), "over-tls", partitions=3, rf=3, min_isr=2)
    old = ca_of(cluster)
    assert _opens(cluster, old)
    with traffic(cluster.bootstrap):
        at = replacement.begin()
        until(lambda: any(e.type == "ca.made" for e in cluster.events()), "a new CA", timeout_s=120)
        cluster.restart_server()
        replacement.reaches("trust-both", at)
        both = ca_of(cluster)
        assert len(x509.load_pem_x509_certificates(both.encode())) == 2
        assert _opens(cluster, old), "whoever has the old one alone is let in until certificates are new"
        at = replacement.go_on()
        replacement.reaches("reissue", at)
        assert not _opens(cluster, old)
        assert _opens(cluster, both)
        replacement.reaches("new-alone", at)
        settled(cluster, within_s=300)
    new = ca_of(cluster)
    assert new.strip() in both
    assert new.strip() != old.strip()
    assert _opens(cluster, new)
    certificates = cluster.client.certificates(cluster.spec.name)
    assert certificates.replacement is None
    nodes_show_what_they_were_given(cluster)
    assert {len(node.believes) for node in certificates.nodes} == {1}
    with sqlite3.connect(cluster.home / "kedge.db") as database:
        kept = database.execute("SELECT certificate, kind FROM cluster_authority WHERE sealed_key != x''").fetchall()
    assert old.strip() not in {pem.strip() for pem, _ in kept}, "the old key is deleted"
    assert len(kept) == 2
