"""What Kedge's server shows to brokers: of each cluster's own CA, and renewed while connections stand."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from controlplane.cluster.server_identities import RENEWED_AFTER, ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.principals import principals_of
from events import facts
from tests.builders import a_tls_document, a_view
from tests.fakes.cluster_authorities import MemoryClusterAuthorities

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(clock: Clock) -> MemoryClusterAuthorities:
    return MemoryClusterAuthorities(clock)


VIEW = a_view(document=a_tls_document())


def test_a_cluster_in_plaintext_is_dialled_so(made: MemoryClusterAuthorities, clock: Clock) -> None:
    identities = ServerIdentities(made, clock)
    identities.know(a_view())
    assert identities.context(VIEW.uid) is None
    assert identities.properties(VIEW.uid) == {}


def test_it_is_signed_by_the_clusters_own_ca_and_believes_no_other(
    made: MemoryClusterAuthorities, clock: Clock
) -> None:
    authorities, identities = made.found(VIEW.uid), ServerIdentities(made, clock)
    identities.know(VIEW)
    shown = identities.properties(VIEW.uid)
    leaf = x509.load_pem_x509_certificate(shown["ssl.certificate.pem"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(authorities.cluster.pem.encode()))
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(VIEW.uid).server}"
    assert shown["ssl.ca.pem"] == authorities.cluster.pem
    context = identities.context(VIEW.uid)
    assert context is not None
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_it_is_renewed_in_the_context_that_connections_are_made_with(
    made: MemoryClusterAuthorities, clock: Clock
) -> None:
    made.found(VIEW.uid)
    identities = ServerIdentities(made, clock)
    identities.know(VIEW)
    context, first = identities.context(VIEW.uid), identities.properties(VIEW.uid)
    clock.now += RENEWED_AFTER - timedelta(seconds=1)
    assert identities.properties(VIEW.uid) == first
    clock.now += timedelta(seconds=1)
    second = identities.properties(VIEW.uid)
    assert second["ssl.key.pem"] != first["ssl.key.pem"]
    assert identities.context(VIEW.uid) is context
    clock.now -= timedelta(days=30)
    assert identities.properties(VIEW.uid) != second, "by a clock that was set back its age is not known"


def test_before_the_first_node_has_a_certificate_nobody_is_dialled(
    made: MemoryClusterAuthorities, clock: Clock
) -> None:
    identities = ServerIdentities(made, clock)
    identities.know(VIEW)
    with pytest.raises(KafkaUnavailable, match="none was made yet"):
        identities.context(VIEW.uid)
    assert not made.made, "they are made with the first node's, by who leads"


def test_a_process_that_may_not_read_keys_dials_no_such_cluster() -> None:
    identities = ServerIdentities(None)
    identities.know(VIEW)
    with pytest.raises(KafkaUnavailable, match="may not read the keys of CAs"):
        identities.properties(VIEW.uid)


def test_while_the_ca_is_replaced_it_goes_by_its_phase(made: MemoryClusterAuthorities, clock: Clock) -> None:
    old = made.found(VIEW.uid)
    new = made.succeed(VIEW.uid, "cluster", "ca-1")
    identities, cas = ServerIdentities(made, clock), facts.AuthoritiesMade(old.cluster.pem, old.clients.pem)

    def at(phase: AuthorityPhase) -> ClusterView:
        change = AuthorityReplacementView("ca-1", "cluster", phase, START, "", new.pem)
        return a_view(document=a_tls_document(), authorities=cas, authority_change=change)

    assert not identities.know(a_view(document=a_tls_document(), authorities=cas)), "the first word is no change"
    identities.context(VIEW.uid)
    for phase, signer, believed in (
        (AuthorityPhase.TRUST_BOTH, old.cluster.pem, 2),
        (AuthorityPhase.REISSUE, new.pem, 2),
        (AuthorityPhase.NEW_ALONE, new.pem, 1),
    ):
        assert identities.know(at(phase))
        assert not identities.know(at(phase))
        shown, context = identities.properties(VIEW.uid), identities.context(VIEW.uid)
        leaf = x509.load_pem_x509_certificate(shown["ssl.certificate.pem"].encode())
        leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(signer.encode()))
        assert context is not None
        assert len(context.get_ca_certs()) == shown["ssl.ca.pem"].count("BEGIN CERTIFICATE") == believed
