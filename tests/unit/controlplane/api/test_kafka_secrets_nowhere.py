"""Keys of CAs, passwords of users and a Vault's token, all in use at once: nobody finds them in the history, on a page,
in an answer of the API, in a log, or readable in the database."""

import base64
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Engine

from agent.certification import signing_request
from controlplane.api.node_certificates import NodeCertificates
from controlplane.background.password_sinks.delivery import PasswordDelivery
from controlplane.background.password_sinks.vault_binding import VaultBinding
from controlplane.background.password_sinks.vault_sink import VaultSink
from controlplane.kafka.scram import scram_credential
from controlplane.runtime.egress import Egress
from controlplane.storage.certificates.cluster_authorities import SqlClusterAuthorities
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from controlplane.storage.terraform_states.encryption import KeySeal
from controlplane.storage.user_passwords import SqlPendingPasswords
from events import facts
from events.ids import Epoch
from events.spec.conversion import to_data
from tests.builders import a_tls_document, with_own
from tests.databases import sqlite_engine
from tests.fakes.vault import TOKEN, FakeVault, a_vault
from tests.own_ca import Pki
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES
from tests.user_texts import user_text

SEAL = KeySeal(b"the server's key")
FILLED = {"name": "orders", "user": "alice"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with sqlite_engine(tmp_path) as made:
        yield made


@pytest.fixture
def vault() -> Iterator[FakeVault]:
    with a_vault() as found:
        yield found


def _lines(pem: str) -> list[str]:
    """Of a private key, each of which tells a part of it."""
    return [line for line in pem.splitlines() if not line.startswith("-") and len(line) > 40]


def _told_by(house: House) -> dict[str, str]:
    """What each page and route answers that asks for no more than a cluster and its user; streams never end."""
    paths = {path for path, verbs in house.client.get("/openapi.json").json()["paths"].items() if "get" in verbs}
    paths |= {path for method, path in PAGE_ROUTES if method == "GET"}
    for name, value in FILLED.items():
        paths = {path.replace(f"{{{name}}}", value) for path in paths}
    asked = sorted(path for path in paths if "{" not in path and not path.endswith(("/live", "/stream")))
    return {path: house.client.get(path).text for path in asked}


def test_they_are_in_nothing_that_is_told_or_kept(
    tmp_path: Path, engine: Engine, vault: FakeVault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx")  # another test may have had the product silence it
    house, own = House(), Pki.root().below()
    authorities = SqlClusterAuthorities(engine, SEAL, own=OwnAuthorities({"corporate": own.put(tmp_path / "ca")}))
    passwords = SqlPendingPasswords(engine, SEAL)

    # A cluster whose nodes are signed by the user's own CA, its users by Kedge's.
    text = yaml.safe_dump(to_data(with_own(a_tls_document(), cluster="corporate")))
    house.apply(text)
    house.launch(broker())
    view = house.view()
    signs = NodeCertificates(house.store, authorities, lambda: house.now)
    signs.certify(view, view.instances[broker().key], signing_request().csr_pem, epoch=Epoch(1))
    clients = house.view().vms.authorities
    assert clients is not None
    both = authorities.of(view.uid, cluster=clients.cluster, clients=clients.clients)
    assert both is not None

    # Its user's password is in Kafka, and on its way to a Vault that refuses it in words of its own.
    house.apply(user_text("alice").replace("type: scram-sha-512", "type: scram-sha-512, deliverTo: apps"))
    password = passwords.of(view.uid, {"alice": 1})["alice"].get_secret_value()
    house.record(facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    sink = VaultSink("apps", VaultBinding(vault=vault.url, token_file=tmp_path / "token"), Egress())
    commands = house.services.cluster.commands
    delivery = PasswordDelivery(
        {"apps": sink}, house.converger, passwords, commands, lambda: house.now, may_act=lambda: True
    )
    vault.next_replies = [(400, {}, {"errors": [f"bad {TOKEN} or {password}"]})]
    house.converger.catch_up()
    delivery.poll()
    waiting = house.view().users.by_name["alice"].password.undelivered
    assert waiting is not None
    assert "bad *** or ***" in waiting.message

    credential = scram_credential(password)
    scram = [base64.b64encode(part).decode() for part in (credential.salt, credential.salted_password)]
    told = _told_by(house)
    told["the history"] = "\n".join(f"{one.data}" for one in house.store.read_all())
    told["the log"] = "\n".join(f"{one.getMessage()} {one.args!r} {one.exc_text}" for one in caplog.records)
    told["the database"] = "".join(file.read_bytes().decode("latin-1") for file in tmp_path.glob("kedge.db*"))
    told["a credential in words"] = repr(credential)
    secrets = {
        "the key of the user's own CA": _lines(own.key_text()),
        "the key of the clients CA": _lines(both.clients.private_key_pem().decode()),
        "the password": [password],
        "what Kafka keeps of it": scram,
        "the token of the Vault": [TOKEN],
    }
    for what, words in secrets.items():
        assert words
        assert {where for where, text in told.items() if any(word in text for word in words)} == set(), what
    shown = {where for where, text in told.items() if "orders" in text}
    assert {"the history", "/v1/clusters/orders", "/clusters/orders"} <= shown, "it would be seen there"
    assert "/v1/apply" in told["the log"]
