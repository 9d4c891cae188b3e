"""CAs of the user's own: what their files have to be, and that nodes are let in by what they sign."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from sqlalchemy import select

from agent.certification import signing_request
from agent.node_certificate import CertificateUnusable, check
from controlplane.cluster.believed_authorities import certificates_of, root_of
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, SqlClusterAuthorities
from controlplane.storage.certificates.cluster_authority import ClusterAuthority, founded
from controlplane.storage.certificates.own_authorities import OwnAuthorities, OwnAuthorityUnusable
from controlplane.storage.migrate import upgrade
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal
from events.clock import utc_now
from events.engine import build_engine, reading
from events.ids import ClusterUid
from tests.own_ca import BEGUN, Pki

UID = ClusterUid("c0ffee")
NOW = BEGUN + timedelta(days=30)


def own(folder: Path, now: Callable[[], datetime] = lambda: NOW) -> OwnAuthorities:
    return OwnAuthorities({"corporate": folder}, now)


def _node(authority: ClusterAuthority, address: str, folder: Path) -> tuple[Path, Path]:
    """What an agent would keep of it."""
    request = signing_request()
    both = founded(UID, now=utc_now())
    issued = type(both)(UID, authority, both.clients).certify_node(request.csr_pem, [address], now=utc_now())
    node, believed = folder / "node.pem", folder / "cluster-ca.pem"
    node.write_text(f"{request.key_pem}{issued.pem}{root_of(authority.pem)}")
    believed.write_text(root_of(authority.pem))
    return node, believed


@pytest.mark.parametrize("key", [ec.SECP256R1(), ec.SECP384R1(), 2048])
def test_a_node_is_let_in_by_an_intermediate_and_its_root_alone_is_believed(
    tmp_path: Path, key: ec.EllipticCurve | int
) -> None:
    made = rsa.generate_private_key(65537, key) if isinstance(key, int) else ec.generate_private_key(key)
    pki = Pki.root().below("middle").below(key=made)
    authority = own(pki.put(tmp_path / "ca")).wanted("corporate")
    assert len(certificates_of(authority.pem)) == 3
    node, believed = _node(authority, "10.0.0.7", tmp_path)
    assert len(x509.load_pem_x509_certificates(believed.read_bytes())) == 1
    check(node, believed, "10.0.0.7")
    stranger = Pki.root("another root")
    (tmp_path / "other.pem").write_text(stranger.pem)
    with pytest.raises(CertificateUnusable):
        check(node, tmp_path / "other.pem", "10.0.0.7")


def test_a_ca_that_numbers_its_keys_otherwise_is_found_by_its_own_number(tmp_path: Path) -> None:
    """OpenSSL looks for the issuer by it."""
    pki = Pki.root(ski=b"r" * 20).below(ski=b"i" * 20)
    node, believed = _node(own(pki.put(tmp_path / "ca")).wanted("corporate"), "10.0.0.7", tmp_path)
    check(node, believed, "10.0.0.7")


def test_a_leaf_ends_no_later_than_any_ca_of_its_chain(tmp_path: Path) -> None:
    pki = Pki.root(days=100).below(days=3650)
    authority = own(pki.put(tmp_path / "ca")).wanted("corporate")
    assert authority.until == BEGUN + timedelta(days=100)


SHORT = Pki.root("short", days=10)
LATE = Pki.root("late", since=NOW + timedelta(days=1))
CLIENTS_ALONE = (ExtendedKeyUsageOID.CLIENT_AUTH,)
UNUSABLE: dict[str, tuple[Callable[[], Pki], str]] = {
    "no ca": (lambda: Pki.root().below(ca=False), r"`CN=kafka intermediate` is no CA .*have one issued that is"),
    "may not sign": (lambda: Pki.root().below(signs=False), r"may not sign certificates \(keyUsage keyCertSign\)"),
    "ended": (lambda: SHORT, r"`CN=short` ended on 2026-01-11: put a renewed one there"),
    "root ended": (lambda: SHORT.below(), r"`CN=short` ended on 2026-01-11"),
    "not begun": (lambda: LATE, r"`CN=late` begins on 2026-02-01"),
    "another key": (lambda: Pki(chain=Pki.root().chain), r"is not that of the key beside it: put the two of one CA"),
    "no root": (lambda: _without_root(Pki.root().below()), r"is no root: add that of `CN=corporate root` behind it"),
    "wrong order": (lambda: _swapped(Pki.root().below("middle").below()), r"is not signed by the certificate after it"),
    "not its root": (
        lambda: _with_last(Pki.root().below(), Pki.root("corporate root")),
        r"`CN=kafka intermediate` is not signed by the certificate after it, `CN=corporate root`",
    ),
    "path length": (lambda: Pki.root(below=0).below(), r"`CN=corporate root` allows 0 CAs below it \(pathlen\), and"),
    "small rsa": (
        lambda: Pki.root().below(key=rsa.generate_private_key(65537, 1024)),
        r"its key is neither EC P-256 or P-384 nor RSA of 2048 bits",
    ),
    "odd curve": (
        lambda: Pki.root().below(key=ec.generate_private_key(ec.SECP256K1())),
        r"its key is neither EC P-256 or P-384",
    ),
    "for clients alone": (lambda: Pki.root().below(uses=CLIENTS_ALONE), r"is not for both ends of TLS"),
    "too many": (
        lambda: Pki.root().below("a").below("b").below("c").below("d").below("e"),
        r"it has 6 certificates, 5 at most",
    ),
}


def _without_root(pki: Pki) -> Pki:
    return Pki(pki.key, pki.chain[:-1])


def _swapped(pki: Pki) -> Pki:
    return Pki(pki.key, (pki.chain[0], pki.chain[2], pki.chain[1]))


def _with_last(pki: Pki, other: Pki) -> Pki:
    return Pki(pki.key, (*pki.chain[:-1], *other.chain))


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_nodes_would_not_believe_is_refused_with_file_reason_and_next_step(tmp_path: Path, case: str) -> None:
    make, words = UNUSABLE[case]
    folder = make().put(tmp_path / "ca")
    with pytest.raises(OwnAuthorityUnusable, match=words) as refused:
        own(folder).wanted("corporate")
    assert f"{folder}/ca" in str(refused.value)
    assert "CA `corporate`: " in str(refused.value)


def _garbage(folder: Path) -> None:
    (folder / "ca.pem").write_text("no certificate")


def _damaged(folder: Path) -> None:
    (folder / "ca-key.pem").write_text("no key")


def _of_another_kind(folder: Path) -> None:
    pki = Pki.root()
    pki.key = dsa.generate_private_key(2048)  # type: ignore[assignment]
    (folder / "ca-key.pem").write_text(pki.key_text())


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "key for others": (lambda f: (f / "ca-key.pem").chmod(0o640), r"ca-key.pem can be read by others: chmod 600 it"),
    "chain for others": (lambda f: (f / "ca.pem").chmod(0o666), r"ca.pem can be written by others: chmod 644 it"),
    "no key": (lambda f: (f / "ca-key.pem").unlink(), r"ca-key.pem is not there: put it there"),
    "no chain": (lambda f: (f / "ca.pem").unlink(), r"has no certificate with a key: put NAME.pem and NAME-key.pem"),
    "garbage": (_garbage, r"ca.pem: it holds no certificates \(PEM\)"),
    "no private key": (_damaged, r"ca-key.pem holds no private key"),
    "encrypted": (
        lambda f: (f / "ca-key.pem").write_text(Pki.root().key_text(b"words")),
        r"ca-key.pem is encrypted: store it without a password, 0600",
    ),
    "kind": (_of_another_kind, r"its key is neither EC"),
    "large": (lambda f: (f / "ca.pem").write_text("x" * 70_000), r"is no PEM file of a CA"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_cannot_be_used_are_told_and_nothing_of_a_key_is(tmp_path: Path, case: str) -> None:
    pki = Pki.root().below()
    folder = pki.put(tmp_path / "ca")
    spoil, words = FILES[case]
    spoil(folder)
    with pytest.raises(OwnAuthorityUnusable, match=words) as refused:
        own(folder).wanted("corporate")
    assert pki.key_text().splitlines()[1] not in f"{refused.value!r}{refused.value.__context__!r}"


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives files away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = Pki.root().put(tmp_path / "ca")
    os.chown(folder / "ca-key.pem", 12345, -1)
    with pytest.raises(OwnAuthorityUnusable, match="is of user 12345: chown it"):
        own(folder).wanted("corporate")


def test_a_name_that_the_settings_lack_and_a_folder_that_is_away_are_told(tmp_path: Path) -> None:
    with pytest.raises(OwnAuthorityUnusable, match=r"no CA called `other`: add `other` .* to \[kafka.own_cas\]"):
        own(tmp_path).wanted("other")
    with pytest.raises(OwnAuthorityUnusable, match=r"directory .*/away cannot be read: No such file"):
        own(tmp_path / "away").wanted("corporate")


def test_of_several_the_one_that_began_last_is_used_and_the_others_still_sign(tmp_path: Path) -> None:
    old, new = Pki.root("old"), Pki.root("new", since=BEGUN + timedelta(days=1))
    old.put(tmp_path, "2026")
    new.put(tmp_path, "2027")
    assert own(tmp_path).wanted("corporate").pem == new.pem
    found = own(tmp_path).of(old.pem)
    assert found is not None
    assert found.pem == old.pem


def test_one_that_ended_long_ago_beside_it_is_no_obstacle(tmp_path: Path) -> None:
    new = Pki.root("new")
    Pki.root("old", since=BEGUN - timedelta(days=800), days=365).put(tmp_path, "2024")
    new.put(tmp_path, "2026")
    assert own(tmp_path).wanted("corporate").pem == new.pem


def test_one_that_was_certified_anew_with_its_key_signs_as_what_nodes_believe(tmp_path: Path) -> None:
    root = Pki.root()
    before = root.below()
    renewed = root.below(key=before.key, since=BEGUN + timedelta(days=7))
    renewed.put(tmp_path)
    found = own(tmp_path).of(before.pem)
    assert found is not None
    assert found.pem == before.pem
    assert own(tmp_path).wanted("corporate").pem == renewed.pem


def test_no_row_and_no_text_has_a_key_of_the_users(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/kedge.db"
    upgrade(url)
    engine, pki = build_engine(url), Pki.root().below()
    kept = SqlClusterAuthorities(engine, KeySeal(b"k"), lambda: NOW, own(pki.put(tmp_path / "ca")))
    made = kept.found(UID, {"cluster": "corporate"})
    assert made.cluster.pem == pki.pem
    with reading(engine) as connection:
        assert [row.kind for row in connection.execute(select(CLUSTER_AUTHORITY))] == ["clients"]
    again = kept.of(UID, cluster=pki.pem, clients=made.clients.pem)
    assert again is not None
    assert again.cluster.pem == pki.pem
    assert kept.found(UID, {"cluster": "corporate"}).clients.pem == made.clients.pem
    (tmp_path / "ca" / "ca-key.pem").unlink()
    with pytest.raises(AuthorityLost, match="if it is your own, put its files back"):
        kept.of(UID, cluster=pki.pem, clients=made.clients.pem)
    with pytest.raises(AuthorityLost, match=r"the cluster CA is the user's own: CA `corporate`: .*is not there"):
        kept.succeed(UID, "cluster", "asked", "corporate")
    both = SqlClusterAuthorities(engine, KeySeal(b"k"), lambda: NOW, OwnAuthorities({"a": tmp_path / "a"}))
    with pytest.raises(AuthorityLost):
        both.of(UID, cluster=pki.pem, clients=Pki.root().pem)
