"""Users of clusters over the HTTP API: declared by a file, looked at, given their credentials once, deleted."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from sqlalchemy import Engine

from controlplane.api.user_credentials import UserCredentials
from controlplane.cluster.commands import CommandHead, CommandRefused
from controlplane.cluster.view import ClusterView
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, SqlClusterAuthorities
from controlplane.storage.certificates.cluster_authority import ClusterAuthority
from controlplane.storage.terraform_states.encryption import KeySeal
from controlplane.storage.user_passwords import SqlPendingPasswords
from events import facts
from events.spec.conversion import to_data
from tests.builders import a_tls_document
from tests.databases import sqlite_engine
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS
from tests.user_texts import READ_PAY, user_text

FILE = f"{ORDERS}---\n{user_text('alice')}"


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with sqlite_engine(tmp_path) as made:
        yield made


def _post(house: House, path: str, body: dict[str, Any] | None = None, *, key: str = "") -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    response: httpx.Response = house.client.post(f"/v1/clusters/orders/{path}", json=body or {}, headers=headers)
    return response


def _user(house: House, name: str = "alice") -> dict[str, Any]:
    response = house.client.get(f"/v1/clusters/orders/users/{name}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def _applied(house: House, **passwords: int) -> None:
    """As the converger records it, once Kafka has these passwords."""
    house.user_passwords.of(house.view().uid, passwords)
    house.record(facts.UsersChanged("", passwords, (), tuple(passwords), (), ()))


def test_a_file_is_planned_and_applied_with_its_users(house: House) -> None:
    planned = house.client.post("/v1/plan", json={"text": FILE}).json()
    assert planned["users"] == ["+ user orders/alice: scram-sha-512"]
    assert planned["topics"] == []
    answer = house.apply(FILE)
    assert answer["users"] == [{"cluster": "orders", "changed": True, "sentence": "1 user of orders declared: alice"}]
    assert not house.apply(FILE)["users"][0]["changed"]
    found = _user(house)
    assert (found["state"], found["password"], found["principal"]) == ("Declared", "pending", "User:alice")
    listed = house.client.get("/v1/clusters/orders/users").json()
    assert (listed["total"], [user["name"] for user in listed["users"]]) == (1, ["alice"])


def test_a_plan_of_users_alone_is_pinned_and_refused_once_it_moved(house: House) -> None:
    house.apply(ORDERS)
    digest = house.client.post("/v1/plan", json={"text": user_text("alice")}).json()["digest"]
    house.apply(user_text("alice", quotas="{producerByteRate: 5}"))
    moved = house.client.post("/v1/apply", json={"text": user_text("alice"), "plan_digest": digest})
    assert (moved.status_code, moved.json()["code"]) == (409, "plan-moved")


def test_what_the_cluster_cannot_carry_is_refused_when_it_is_planned(house: House) -> None:
    house.apply(ORDERS)
    planned = house.client.post("/v1/plan", json={"text": user_text("alice", acls=READ_PAY)}).json()
    assert not planned["ok"]
    assert "KEDGE-SPEC-104" in [problem["code"] for problem in planned["problems"]]


def test_a_password_is_collected_once_when_kafka_has_it(house: House) -> None:
    house.apply(FILE)
    early = _post(house, "users/alice/password/collect")
    assert (early.status_code, early.json()["code"]) == (409, "password-not-applied")
    _applied(house, alice=1)
    assert _user(house)["password"] == "collectable"
    given = _post(house, "users/alice/password/collect", key="k1")
    assert given.status_code == 200, given.text
    assert len(given.json()["password"]) == 32
    assert given.json()["mechanism"] == "SCRAM-SHA-512"
    assert house.user_passwords.kept == {}
    assert _post(house, "users/alice/password/collect", key="k1").json()["code"] == "done-before"
    assert _post(house, "users/alice/password/collect").json()["code"] == "password-collected"
    assert _user(house)["password"] == "collected"


def test_a_password_that_was_given_away_is_nowhere_but_in_that_answer(house: House) -> None:
    house.apply(FILE)
    _applied(house, alice=1)
    secret = _post(house, "users/alice/password/collect").json()["password"]
    events = [event.data for event in house.store.read_all(0, 1000)]
    pages = [_user(house), house.client.get("/v1/audit").text, house.client.get("/v1/clusters/orders/events").text]
    assert secret not in f"{events} {pages} {house.view()!r}"


def test_collecting_and_rotating_are_in_the_audit(house: House) -> None:
    house.apply(FILE)
    _applied(house, alice=1)
    _post(house, "users/alice/password/collect")
    _post(house, "users/alice/password/rotate", {"reason": "leaked"})
    told = house.client.get("/v1/audit").text
    assert "users/{user}/password/collect" in told or "users/alice/password/collect" in told
    assert "password/rotate" in told


def test_a_password_that_is_lost_is_told_so_with_the_way_to_another(house: House) -> None:
    house.apply(FILE)
    house.record(facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    lost = _post(house, "users/alice/password/collect")
    assert (lost.status_code, lost.json()["code"]) == (409, "password-lost")
    assert "kedge users rotate orders alice" in lost.json()["next"]


def test_what_does_not_open_is_not_recorded_as_given_away(house: House, engine: Engine) -> None:
    house.apply(FILE)
    uid = house.view().uid
    kept = SqlPendingPasswords(engine, KeySeal(b"the right one"))
    kept.of(uid, {"alice": 1})
    house.record(facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    wrong = UserCredentials(SqlPendingPasswords(engine, KeySeal(b"another")), house.authorities, lambda: house.now)
    right = UserCredentials(
        SqlPendingPasswords(engine, KeySeal(b"the right one")), house.authorities, lambda: house.now
    )
    commands, before = house.services.cluster.commands, house.view().version
    with pytest.raises(CommandRefused, match="server-key"):
        wrong.collect(commands, _head("c1"), "alice")
    assert house.view().version == before
    given = right.collect(commands, _head("c2"), "alice")
    assert len(given.get_secret_value()) == 32


def test_who_collects_drops_no_password_that_was_asked_for_in_that_moment(house: House) -> None:
    house.apply(FILE)
    _applied(house, alice=1)
    uid, passwords = house.view().uid, house.user_passwords

    class AsRotated:
        """The commands as one server has them: what another one has just recorded it reads a moment later."""

        def __init__(self) -> None:
            self.handle = house.services.cluster.commands.handle
            self.before = house.view()

        def current(self, name: str) -> ClusterView:
            return self.before

    stale = AsRotated()
    house.record(facts.UserPasswordRequested("alice", 2, "asked by anna"))
    new = passwords.of(uid, {"alice": 2})["alice"]
    UserCredentials(passwords, house.authorities, lambda: house.now).collect(stale, _head("c1"), "alice")
    assert passwords.take(uid, 2) == new


def test_a_rotated_password_can_be_collected_once_kafka_has_it(house: House) -> None:
    house.apply(FILE)
    _applied(house, alice=1)
    first = _post(house, "users/alice/password/collect").json()["password"]
    assert _post(house, "users/alice/password/rotate").json()["changed"]
    assert _user(house)["password"] == "pending"
    _applied(house, alice=2)
    assert _post(house, "users/alice/password/collect").json()["password"] != first


def test_a_user_is_deleted_with_its_name_and_let_go_of_with_retain(house: House) -> None:
    house.apply(f"{FILE}---\n{user_text('bob')}")
    assert _post(house, "users/alice/delete", {"confirm": "bob"}).json()["code"] == "name-mismatch"
    assert _post(house, "users/alice/delete", {"confirm": "alice", "reason": "gone"}).json()["changed"]
    assert _user(house)["state"] == "Deleting"
    assert _post(house, "users/bob/delete", {"confirm": "bob", "retain": True}).json()["changed"]
    assert house.client.get("/v1/clusters/orders/users/bob").status_code == 404


def _request(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, name: str = "CN=kedge-node") -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "x")])
    )
    named = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("broker.example")]), critical=False)
    return named.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _head(command: str) -> CommandHead:
    return {"name": "orders", "actor": "anna", "command_id": command}


def _with_tls(house: House) -> ClusterAuthority:
    """A cluster whose nodes speak TLS, with its CAs; `bob` proves itself by a certificate."""
    house.apply(ORDERS)
    view = house.view()
    document = a_tls_document()
    house.record(
        facts.ClusterDeclared(
            uid=view.uid,
            name="orders",
            generation=view.generation + 1,
            document=to_data(document),
            source="test",
        )
    )
    authorities = house.authorities.found(view.uid)
    house.record(facts.AuthoritiesMade(authorities.cluster.pem, authorities.clients.pem))
    house.apply(user_text("bob", type_="tls"))
    return authorities.clients


def test_a_key_of_a_tls_user_is_signed_as_that_user_whatever_the_request_says(house: House) -> None:
    clients = _with_tls(house)
    key = ec.generate_private_key(ec.SECP384R1())
    answer = _post(house, "users/bob/certificate", {"request": _request(key), "days": 30})
    assert answer.status_code == 200, answer.text
    signed = x509.load_pem_x509_certificate(answer.json()["certificate"].encode())
    assert signed.subject.rfc4514_string() == "CN=bob"
    assert signed.public_key() == key.public_key()
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(clients.pem.encode()))
    uses = signed.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        signed.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert signed.not_valid_after_utc == house.now + timedelta(days=30)
    assert _user(house, "bob")["certificate"]["serial"] == answer.json()["serial"]


def test_while_the_clients_ca_is_replaced_users_are_signed_by_the_one_that_signs(house: House) -> None:
    """What the old one signs is believed no more at the end: the user would be shut out then."""
    old, uid = _with_tls(house), house.view().uid
    request = {"request": _request(ec.generate_private_key(ec.SECP256R1()))}

    def signed_by() -> str:
        certificate = _post(house, "users/bob/certificate", request).json()["certificate"]
        return x509.load_pem_x509_certificate(certificate.encode()).issuer.rfc4514_string()

    new = house.authorities.succeed(uid, "clients", "ca-1")
    house.record(facts.AuthorityReplaceRequested("ca-1", "clients", "x"), facts.NextAuthorityMade("ca-1", new.pem))
    names = [x509.load_pem_x509_certificate(one.pem.encode()).subject.rfc4514_string() for one in (old, new)]
    assert signed_by() == names[0]
    house.record(facts.AuthorityPhaseRequested("ca-1", "reissue", ""))
    assert signed_by() == names[1]


def test_weak_keys_and_what_is_no_request_are_refused(house: House) -> None:
    _with_tls(house)
    for request in ("hello", _request(rsa.generate_private_key(65537, 1024)), _request(_k1())):
        refused = _post(house, "users/bob/certificate", {"request": request})
        assert (refused.status_code, refused.json()["code"]) == (422, "request-refused")
    strong = _request(rsa.generate_private_key(65537, 2048))
    assert _post(house, "users/bob/certificate", {"request": strong}).status_code == 200


def _k1() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256K1())


def test_no_certificate_where_there_is_no_clients_ca_and_for_no_other_user(house: House) -> None:
    house.apply(f"{FILE}---\n{user_text('bob', type_='tls')}")
    request = {"request": _request(ec.generate_private_key(ec.SECP256R1()))}
    assert _post(house, "users/bob/certificate", request).json()["code"] == "no-authority"
    assert _post(house, "users/alice/certificate", request).json()["code"] == "no-certificate"


def test_a_certificate_that_a_ca_that_does_not_open_would_sign_is_not_recorded(house: House, engine: Engine) -> None:
    _with_tls(house)
    uid, before = house.view().uid, house.view().version
    SqlClusterAuthorities(engine, KeySeal(b"the right one")).found(uid)
    wrong = SqlClusterAuthorities(engine, KeySeal(b"another"))
    signs = UserCredentials(house.user_passwords, wrong, lambda: house.now)
    request = _request(ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(AuthorityLost):
        signs.certify(house.services.cluster.commands, _head("c1"), "bob", request, days=1)
    assert house.view().version == before
