"""`kedge import` of a cluster of others that speaks TLS and asks for a password, and how its gateway is let in."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent.certification import signing_request
from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings
from controlplane.cluster.gateways import Gateways
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities, founded
from events.ids import ClusterUid
from events.spec.document import load_documents
from tests.builders import a_view
from tests.kafka_processes import KafkaProcesses

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

NETWORK = "127.0.36"
SECURED = f"{NETWORK}.1:9094"
NOW = datetime.now(UTC)
OURS, THEIRS = founded(ClusterUid("c0ffee"), now=NOW), founded(ClusterUid("decaf"), now=NOW)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
FIRST, SECOND = "first-pa55word-of-a-test", "second-pa55word-of-a-test"


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def certified(folder: Path, authorities: ClusterAuthorities) -> Path:
    begun = signing_request()
    issued = authorities.certify_node(begun.csr_pem, (f"{NETWORK}.1",), now=NOW)
    return written(folder / "node.pem", f"{begun.key_pem}{issued.pem}")


def properties(folder: Path, *, password: str = FIRST, authorities: ClusterAuthorities = OURS, name: str = "x") -> Path:
    ca = written(folder / f"{name}-ca.pem", authorities.cluster.pem)
    text = (
        f"security.protocol=sasl_ssl\nssl.ca.location={ca}\nsasl.mechanism=PLAIN\n"
        f"sasl.username=kedge\nsasl.password={password}\nbootstrap.servers={SECURED}\n"
    )
    return written(folder / f"{name}.properties", text)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    """One broker that speaks SASL_SSL to clients and to itself, and knows two passwords of one user each."""
    root = tmp_path_factory.mktemp("live-import-secured")
    kafka = KafkaProcesses(root, network=NETWORK, controllers=(100,), replication=1, min_isr=1)
    users = f'{PLAIN} username="kedge" password="{FIRST}" user_kedge="{FIRST}" user_other="{SECOND}";'
    try:
        kafka.add_broker(
            1,
            "a",
            overrides={
                "listeners": f"PLAINTEXT://{NETWORK}.1:9092,THEIRS://{SECURED}",
                "advertised.listeners": f"PLAINTEXT://{NETWORK}.1:9092,THEIRS://{SECURED}",
                "inter.broker.listener.name": "THEIRS",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,THEIRS:SASL_SSL,CONTROLLER:PLAINTEXT",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.theirs.sasl.enabled.mechanisms": "PLAIN",
                "listener.name.theirs.plain.sasl.jaas.config": users,
                "listener.name.theirs.ssl.keystore.type": "PEM",
                "listener.name.theirs.ssl.keystore.location": str(certified(root, OURS)),
                "listener.name.theirs.ssl.truststore.type": "PEM",
                "listener.name.theirs.ssl.truststore.location": str(written(root / "ca.pem", OURS.cluster.pem)),
            },
        )
        kafka.found()
        yield kafka
    finally:
        kafka.close()


def imported(tmp_path: Path, *arguments: str) -> Result:
    around = Surroundings(environ={"KEDGE_HOME": str(tmp_path / "nobody")}, cwd=tmp_path)
    return CliRunner().invoke(app, ["import", "--name", "theirs", *arguments], obj=around)


def test_the_spec_names_the_properties_and_its_gateway_reads_the_cluster(
    secured: KafkaProcesses, tmp_path: Path
) -> None:
    file = properties(tmp_path)
    ended = imported(tmp_path, "--client-properties", str(file))
    assert ended.exit_code == 0, ended.output
    print(ended.stdout)
    loaded = load_documents(ended.stdout, file="theirs.yaml")
    assert loaded.ok, loaded.problems
    document = loaded.documents[0]
    external = document.spec.external
    assert external is not None
    assert (external.client_properties, external.listener) == ("theirs", "THEIRS")
    assert [(b.id, f"{b.host}:{b.port}") for b in external.brokers] == [(1, SECURED)]
    assert all(hidden not in ended.output for hidden in (FIRST, str(tmp_path)))

    view = a_view(document=document)
    shown = ServerIdentities(None, client_files={"theirs": file})
    gateways = Gateways(DirectDialer(tls=shown), identities=shown)
    try:
        assert gateways.of(view).snapshot().cluster_id == secured.cluster_id
        properties(tmp_path, password=SECOND)
        with pytest.raises(KafkaUnavailable, match="its user name or password is wrong") as refused:
            gateways.of(view).snapshot()
        assert "Correct client properties `theirs`" in refused.value.next_step
        file.write_text(file.read_text().replace("username=kedge", "username=other"))
        assert gateways.of(view).snapshot().cluster_id == secured.cluster_id
    finally:
        gateways.close()


@pytest.mark.usefixtures("secured")
def test_who_is_not_let_in_is_told_why(tmp_path: Path) -> None:
    good = properties(tmp_path)
    ssl_alone = written(tmp_path / "ssl", f"security.protocol=ssl\nssl.ca.location={tmp_path / 'x-ca.pem'}\n")
    scram = written(tmp_path / "scram", good.read_text().replace("=PLAIN\n", "=SCRAM-SHA-512\n"))
    told = {
        "password": properties(tmp_path, password="wrong-pa55word", name="password"),
        "ca": properties(tmp_path, authorities=THEIRS, name="ca"),
        "ssl": ssl_alone,
        "scram": scram,
    }
    words = {
        name: imported(tmp_path, "--bootstrap", SECURED, "--client-properties", str(file)).output
        for name, file in told.items()
    }
    print(words)
    assert "its user name or password is wrong" in words["password"]
    assert "wrong-pa55word" not in words["password"]
    assert "is not trusted" in words["ca"]
    assert "asks for a user name and password (SASL)" in words["ssl"]
    assert "does not take this way of signing in" in words["scram"]
    plain = imported(tmp_path, "--bootstrap", SECURED).output
    assert "is a TLS port, and was dialled in plaintext" in plain
    assert "--client-properties FILE" in plain
    at_plaintext = imported(tmp_path, "--bootstrap", f"{NETWORK}.1:9092", "--client-properties", str(good)).output
    assert "speaks no TLS" in at_plaintext
