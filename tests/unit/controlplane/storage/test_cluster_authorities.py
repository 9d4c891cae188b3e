"""The two CAs of a cluster: made once, sealed at rest, and what they sign."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from sqlalchemy import Engine, select, update

from agent.certification import signing_request
from controlplane.storage.certificates.building import RequestRefused
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, SqlClusterAuthorities
from controlplane.storage.certificates.cluster_authority import ACT_LIFE, MEMBER_LIFE, NODE_LIFE, founded
from controlplane.storage.certificates.principals import principals_of
from controlplane.storage.migrate import upgrade
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal
from events.engine import build_engine, reading, writing
from events.ids import ClusterUid

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
UID, OTHER = ClusterUid("c0ffee"), ClusterUid("decaf")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    url = f"sqlite:///{tmp_path}/kedge.db"
    upgrade(url)
    return build_engine(url)


def kept(engine: Engine, key: bytes = b"server key") -> SqlClusterAuthorities:
    return SqlClusterAuthorities(engine, KeySeal(key), lambda: NOW)


def test_they_are_made_once_and_come_back_the_same(engine: Engine) -> None:
    assert kept(engine).of(UID) is None
    made = kept(engine).found(UID)
    again, other = kept(engine).found(UID), kept(engine).found(OTHER)
    assert (again.cluster.pem, again.clients.pem) == (made.cluster.pem, made.clients.pem)
    assert len({made.cluster.pem, made.clients.pem, other.cluster.pem, other.clients.pem}) == 4


def test_what_is_at_rest_holds_no_key_and_opens_for_its_cluster_and_home_alone(engine: Engine) -> None:
    made = kept(engine).found(UID)
    with reading(engine) as connection:
        rows = connection.execute(select(CLUSTER_AUTHORITY)).all()
    secret = made.cluster.private_key_pem()
    for row in rows:
        assert secret not in bytes(row.sealed_key)
        assert b"PRIVATE" not in bytes(row.sealed_key)
        assert "PRIVATE" not in row.certificate
    with pytest.raises(AuthorityLost, match="`server-key` of another home"):
        kept(engine, b"another").of(UID)
    sealed = {row.kind: bytes(row.sealed_key) for row in rows}
    with writing(engine) as transaction:
        is_clients = CLUSTER_AUTHORITY.c.kind == "clients"
        transaction.execute(update(CLUSTER_AUTHORITY).where(is_clients).values(sealed_key=sealed["cluster"]))
    with pytest.raises(AuthorityLost, match="the key of the clients CA"):
        kept(engine).of(UID)


def test_one_that_is_gone_is_named_and_none_is_made_in_its_place(engine: Engine) -> None:
    kept(engine).found(UID)
    with writing(engine) as transaction:
        transaction.execute(CLUSTER_AUTHORITY.delete().where(CLUSTER_AUTHORITY.c.kind == "clients"))
    with pytest.raises(AuthorityLost, match="the clients CA of cluster c0ffee is not in the database"):
        kept(engine).found(UID)


def test_no_text_of_theirs_shows_a_key() -> None:
    made = founded(UID, now=NOW)
    identity = made.identity("server", now=NOW)
    assert "PRIVATE" not in repr((made, made.cluster, identity, identity.issued))


def test_a_node_gets_the_name_of_all_nodes_and_the_addresses_that_kedge_knows() -> None:
    made, begun = founded(UID, now=NOW), signing_request()
    issued = made.certify_node(begun.csr_pem, ("10.0.0.7", "kafka.example.com", "10.0.0.7"), now=NOW)
    leaf = x509.load_pem_x509_certificate(issued.pem.encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(made.cluster.pem.encode()))
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(UID).node}"
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("10.0.0.7")]
    assert names.get_values_for_type(x509.DNSName) == ["kafka.example.com"]
    uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(uses) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert issued.until - NOW == NODE_LIFE
    assert (f"{leaf.serial_number:x}", leaf.not_valid_after_utc) == (issued.serial, issued.until)


def test_kedge_itself_is_a_client_for_a_week_under_a_name_of_its_own() -> None:
    made = founded(UID, now=NOW)
    identity = made.identity("server", now=NOW)
    leaf = x509.load_pem_x509_certificate(identity.issued.pem.encode())
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(UID).server}"
    uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert identity.issued.until - NOW == MEMBER_LIFE


def test_no_certificate_outlives_its_ca() -> None:
    made = founded(UID, now=NOW)
    late = made.cluster.until - timedelta(days=3)
    assert made.certify_node(signing_request().csr_pem, ("10.0.0.7",), now=late).until == made.cluster.until


def test_a_request_of_another_curve_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    csr = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    with pytest.raises(RequestRefused, match="not of the curve P-256"):
        founded(UID, now=NOW).certify_node(
            csr.public_bytes(serialization.Encoding.PEM).decode(), ("10.0.0.7",), now=NOW
        )


def test_principals_are_of_one_cluster_for_ever_and_no_users_name_can_be_one() -> None:
    ours, theirs = principals_of(UID), principals_of(OTHER)
    assert ours == principals_of(UID)
    node, server = f"User:CN={ours.node}", f"User:CN={ours.server}"
    assert ours.super_users(least_rights=True) == (node,)
    assert ours.super_users(least_rights=False) == (node, server)
    own = {node, *ours.kedge.values()}
    assert len(own) == 4
    assert not own & {theirs.principal("node"), *theirs.kedge.values()}
    assert all("=" in name.removeprefix("User:") and ";" not in name for name in own)


def test_who_acts_as_a_node_may_for_minutes_and_is_dialled_by_nobody() -> None:
    made = founded(UID, now=NOW)
    identity = made.identity("node", now=NOW)
    leaf = x509.load_pem_x509_certificate(identity.issued.pem.encode())
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(UID).node}"
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH
    ]
    assert identity.issued.until - NOW == ACT_LIFE


# --- a successor --------------------------------------------------------------------------------------------------


def test_a_successor_is_made_once_for_a_request_and_named_by_its_certificate(engine: Engine) -> None:
    old = kept(engine).found(UID)
    new = kept(engine).succeed(UID, "cluster", "ca-1")
    assert kept(engine).succeed(UID, "cluster", "ca-1").pem == new.pem
    subjects = {x509.load_pem_x509_certificate(pem.encode()).subject for pem in (old.cluster.pem, new.pem)}
    assert len(subjects) == 2, "who verifies looks for a CA by its subject"
    unnamed, named = kept(engine).of(UID), kept(engine).of(UID, cluster=new.pem)
    assert unnamed is not None
    assert named is not None
    assert (unnamed.cluster.pem, named.cluster.pem) == (old.cluster.pem, new.pem)
    assert named.clients.pem == old.clients.pem
    with reading(engine) as connection:
        assert all(b"PRIVATE" not in bytes(row.sealed_key) for row in connection.execute(select(CLUSTER_AUTHORITY)))


def test_the_old_one_is_removed_for_good_and_the_new_one_stays(engine: Engine) -> None:
    old = kept(engine).found(UID)
    new = kept(engine).succeed(UID, "cluster", "ca-1")
    for _ in range(2):
        kept(engine).remove(UID, old.cluster.pem)
    there = kept(engine).of(UID)
    assert there is not None
    assert (there.cluster.pem, there.clients.pem) == (new.pem, old.clients.pem)
    with pytest.raises(AuthorityLost, match="the cluster CA that nodes of cluster c0ffee believe is not in"):
        kept(engine).of(UID, cluster=old.cluster.pem)
    assert kept(engine).succeed(UID, "cluster", "ca-2").pem != new.pem, "and may be replaced again"
