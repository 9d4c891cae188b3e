"""Properties by which brokers of others are spoken to: what is taken, and refused by name, never by value."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.certification import signing_request
from controlplane.kafka.client_access import ClientPropertiesUnusable, client_access, read_access
from controlplane.storage.certificates.cluster_authority import founded
from events.ids import ClusterUid

NOW = datetime.now(UTC)
OURS, THEIRS = founded(ClusterUid("c0ffee"), now=NOW), founded(ClusterUid("decaf"), now=NOW)
SCRAM = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "kedge",
    "sasl.password": "pa55word-of-a-test",
}


def written(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_name_and_a_password_over_tls_are_taken(tmp_path: Path) -> None:
    ca = written(tmp_path / "ca.pem", OURS.cluster.pem, 0o644)
    access = client_access({**SCRAM, "ssl.ca.location": ca, "bootstrap.servers": "a:9094", "client.id": "x"})
    assert access.sasl is not None
    assert (access.sasl.mechanism, access.sasl.username) == ("SCRAM-SHA-512", "kedge")
    assert access.sasl.password.get_secret_value() == "pa55word-of-a-test"
    assert len(access.context.get_ca_certs()) == 1
    assert access.context.check_hostname
    assert access.bootstrap == "a:9094"
    assert "bootstrap.servers" not in access.properties
    assert "pa55word" not in repr(access)


def test_a_certificate_of_its_own_is_shown_and_its_key_is_the_owners_alone(tmp_path: Path) -> None:
    begun = signing_request()
    shown = {
        "security.protocol": "SSL",
        "ssl.certificate.location": written(
            tmp_path / "kedge.pem", OURS.certify_node(begun.csr_pem, ("10.0.0.1",), now=NOW).pem, 0o644
        ),
        "ssl.key.location": written(tmp_path / "kedge.key", begun.key_pem),
    }
    assert client_access(shown).sasl is None
    (tmp_path / "kedge.key").chmod(0o640)
    with pytest.raises(ClientPropertiesUnusable, match=r"`ssl.key.location` can be read by others: chmod 600 it"):
        client_access(shown)
    written(tmp_path / "kedge.key", signing_request().key_pem)
    with pytest.raises(ClientPropertiesUnusable, match=r"`ssl.certificate.location` names no certificate"):
        client_access(shown)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"security.protocol": "sasl_plaintext"}, "has to be ssl or sasl_ssl"),
        ({"security.protocol": ""}, "has to be ssl or sasl_ssl"),
        ({"security.protocol": "ssl"}, "`sasl.mechanism` stands beside"),
        ({"sasl.mechanism": "GSSAPI"}, "has to be one of SCRAM-SHA-512"),
        ({"sasl.password": ""}, "`sasl.password` is missing"),
        ({"sasl.jaas.config": "pa55word"}, "`sasl.jaas.config` is not read here"),
        ({"enable.ssl.certificate.verification": "false"}, "is not read here"),
        ({"ssl.endpoint.identification.algorithm": "none"}, "is not read here"),
        ({"ssl.ca.location": "ca.pem"}, "has to be an absolute path"),
        ({"ssl.ca.location": "/nowhere/ca.pem"}, "the file of `ssl.ca.location` cannot be read: FileNotFoundError"),
        ({"ssl.key.location": "/k"}, "go together"),
    ],
)
def test_what_is_not_offered_is_refused_by_its_name(changed: dict[str, str], words: str) -> None:
    with pytest.raises(ClientPropertiesUnusable) as refused:
        client_access({**SCRAM, **changed})
    assert words in str(refused.value)
    assert "pa55word" not in str(refused.value)
    assert "/nowhere" not in str(refused.value)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "orders.properties"
    written(path, "\n".join(f"{key}={value}" for key, value in SCRAM.items()), 0o644)
    with pytest.raises(ClientPropertiesUnusable, match="the file can be read by others: chmod 600 it"):
        read_access(path)
    path.chmod(0o600)
    assert read_access(path).sasl is not None
    with pytest.raises(ClientPropertiesUnusable, match="the file cannot be read: FileNotFoundError"):
        read_access(tmp_path / "nowhere")
