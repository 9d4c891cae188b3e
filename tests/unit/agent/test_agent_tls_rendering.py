"""What a node that speaks TLS is started with. The values were run with real brokers; goldens as in
`test_agent_rendering`."""

from pathlib import Path

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.services.launch import KafkaInstallation
from agent.services.properties import ignored_settings, server_properties
from agent.services.storage import storage_tool_arguments
from agent.services.zoo_cfg import first_membership, ignored_zookeeper_settings, static_config
from agent.wire import TLS_WIRE_VERSION, ServiceDocument, ServiceTls, TlsListener
from agent.wire_tls import TlsStep
from agent.wire_versions import MIGRATION_WIRE_VERSION, NEWEST_WIRE_VERSION
from tests.unit.agent.test_agent_rendering import LOG_DIRS, check
from tests.unit.agent.wanted import ENSEMBLE, VOTERS, boot_data, broker, controller, document, old_broker, server

TLS_DIR = Path("/vm/services/broker/tls")
SUPER_USERS = ("User:CN=kedge-node-0123456789abcdef", "User:CN=kedge-server-0123456789abcdef", "User:ANONYMOUS")
LISTENERS = (
    TlsListener(name="TLS", port=9094, security="tls"),
    TlsListener(name="MTLS", port=9095, security="tls", authentication="tls"),
    TlsListener(name="SCRAM", port=9096, security="tls", authentication="scram-sha-512", reauthenticate_s=600),
    TlsListener(name="PLAINTEXT", port=9092, security="plaintext"),
)
AT_9090 = tuple(voter.model_copy(update={"port": 9090}) for voter in VOTERS)
TLS_BROKER = broker(port=9091, voters=AT_9090, tls=ServiceTls(super_users=SUPER_USERS, listeners=LISTENERS))
TLS_CONTROLLER = controller(port=9090, voters=AT_9090, tls=ServiceTls(super_users=SUPER_USERS[:2]))


AT_2182 = tuple(member.model_copy(update={"port": 2182}) for member in ENSEMBLE)
TLS_OLD_BROKER = old_broker(port=9091, ensemble=AT_2182, tls=TLS_BROKER.tls)
TLS_SERVER = server(port=2182, ensemble=AT_2182, tls=ServiceTls(super_users=SUPER_USERS[:2]))
TLS_BRIDGED = TLS_OLD_BROKER.model_copy(update={"voters": AT_9090})
TLS_MIGRATING = TLS_CONTROLLER.model_copy(update={"kafka_version": "3.9.1", "ensemble": AT_2182})


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("broker-tls", TLS_BROKER),
        ("controller-tls", TLS_CONTROLLER),
        ("broker-zookeeper-tls", TLS_OLD_BROKER),
        ("broker-migrating-tls", TLS_BRIDGED),
        ("controller-migrating-tls", TLS_MIGRATING),
    ],
)
def test_server_properties(name: str, service: ServiceDocument) -> None:
    check(f"{name}.properties", server_properties(service, log_dirs=LOG_DIRS, tls_dir=TLS_DIR))


def test_without_certificates_nothing_is_rendered() -> None:
    with pytest.raises(ValueError, match="nobody says where its certificates are"):
        server_properties(TLS_BROKER, log_dirs=LOG_DIRS)


def test_zoo_cfg() -> None:
    directory = Path("/vm/volumes/zookeeper/zookeeper")
    check("zoo-tls.cfg", static_config(TLS_SERVER, directory, directory / "zoo.cfg.dynamic", tls_dir=TLS_DIR))
    with pytest.raises(ValueError, match="nobody says where its certificates are"):
        static_config(TLS_SERVER, directory, directory / "zoo.cfg.dynamic")


def test_members_that_speak_tls_have_no_port_in_plaintext() -> None:
    assert first_membership(TLS_SERVER).splitlines() == [
        "server.2=10.0.1.2:2888:3888:participant",
        "server.3=10.0.1.3:2888:3888:participant",
        "server.1=10.0.1.1:2888:3888:participant",
    ]


@pytest.mark.parametrize("key", ["sslQuorum", "ssl.clientAuth", "authProvider.x509", "secureClientPortAddress"])
def test_no_setting_of_a_server_takes_the_place_of_one_of_them(key: str) -> None:
    stolen = TLS_SERVER.model_copy(update={"settings": {key: "stolen"}})
    assert "stolen" not in static_config(stolen, Path("/d"), Path("/d/m"), tls_dir=TLS_DIR)
    assert ignored_zookeeper_settings(stolen) == (key,)


@pytest.mark.parametrize(
    ("service", "wire"),
    [
        (TLS_OLD_BROKER, TLS_WIRE_VERSION),
        (TLS_SERVER, TLS_WIRE_VERSION),
        (TLS_BRIDGED, MIGRATION_WIRE_VERSION),
        (TLS_MIGRATING, MIGRATION_WIRE_VERSION),
    ],
)
def test_services_of_zookeepers_mode_speak_tls_and_those_that_leave_it(service: ServiceDocument, wire: int) -> None:
    assert isinstance(_judged(service, wire), Accepted)


@pytest.mark.parametrize(("service", "step"), [(TLS_BRIDGED, "B1"), (TLS_MIGRATING, "C1")])
def test_nobody_migrates_between_plaintext_and_tls(service: ServiceDocument, step: TlsStep) -> None:
    tls = ServiceTls(super_users=SUPER_USERS, step=step)
    refused = _judged(service.model_copy(update={"tls": tls}), MIGRATION_WIRE_VERSION)
    assert isinstance(refused, DocumentRejected)
    assert "is at no step between plaintext and TLS" in refused.reason


def _judged(service: ServiceDocument, wire: int) -> Accepted | DocumentRejected:
    told = document(service).model_copy(update={"wire": wire})
    return judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None)


def test_who_is_told_of_both_asks_the_authorizer_of_its_mode_and_writes_what_is_the_nodes_own() -> None:
    """KIP-866: ACLs that people change meanwhile are in the log, and in ZooKeeper."""
    told = [_properties(one) for one in (TLS_OLD_BROKER, TLS_BRIDGED, TLS_MIGRATING, TLS_BROKER, TLS_CONTROLLER)]
    assert [one["authorizer.class.name"].rpartition(".")[2] for one in told] == [
        *["AclAuthorizer"] * 2,
        *["StandardAuthorizer"] * 3,
    ]
    assert [one.get("zookeeper.set.acl") for one in told] == [*["true"] * 3, None, None]
    assert [one.get("zookeeper.connect", "").count(":2182") for one in told] == [3, 3, 3, 0, 0]
    assert {one["super.users"] for one in told[:2]} == {";".join(SUPER_USERS)}


def test_controllers_of_a_migration_reach_brokers_as_those_reach_one_another() -> None:
    controller = _properties(TLS_MIGRATING)
    name = controller["inter.broker.listener.name"]
    assert (name, controller["listener.security.protocol.map"]) == ("REPLICATION", "CONTROLPLANE:SSL,REPLICATION:SSL")
    assert controller[f"listener.name.{name.lower()}.ssl.keystore.location"] == str(TLS_DIR / "node.pem")
    assert controller["listeners"] == "CONTROLPLANE://10.0.0.1:9090", "and it listens there alone"


def _properties(service: ServiceDocument) -> dict[str, str]:
    lines = server_properties(service, log_dirs=LOG_DIRS, tls_dir=TLS_DIR).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.mark.parametrize(
    "key", ["super.users", "authorizer.class.name", "listener.name.replication.ssl.keystore.location", "listeners"]
)
def test_no_setting_takes_the_place_of_one_of_them(key: str) -> None:
    stolen = TLS_BROKER.model_copy(update={"settings": {key: "stolen"}})
    assert "stolen" not in server_properties(stolen, log_dirs=LOG_DIRS, tls_dir=TLS_DIR)
    assert ignored_settings(stolen) == (key,)


def test_the_first_quorum_is_formatted_with_its_tls_ports() -> None:
    *_, voters = storage_tool_arguments(TLS_CONTROLLER)
    assert voters.startswith("100@10.0.0.1:9090:")


def test_the_quick_compiler_is_left_out_where_tls_is() -> None:
    """It knows no AES of the processor's: TLS would cost 8 to 24 times as much."""
    installation = KafkaInstallation(Path("/kafka"), "java")

    def command(service: ServiceDocument) -> tuple[str, ...]:
        return installation.kafka_command(service, directory=Path("/vm"), marks=())

    assert "-XX:TieredStopAtLevel=1" in command(broker())
    assert "-XX:TieredStopAtLevel=1" not in command(TLS_BROKER)
    assert "-XX:+UseSerialGC" in command(TLS_BROKER)


def test_an_agent_takes_such_a_document_by_its_version_which_agents_of_before_refuse() -> None:
    told = document(TLS_BROKER).model_copy(update={"wire": TLS_WIRE_VERSION})
    assert isinstance(judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None), Accepted)
    newer = told.model_copy(update={"wire": NEWEST_WIRE_VERSION + 1})
    refused = judge_document(newer.model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(refused, DocumentRejected)
    assert "this agent speaks 1, 2, 3, 4, 5, 6 and 7" in refused.reason


def test_an_agent_that_does_not_know_how_a_listener_asks_starts_nothing() -> None:
    """As one of a release before with SCRAM: it must not leave out what it cannot read."""
    told = document(TLS_BROKER).model_copy(update={"wire": TLS_WIRE_VERSION}).model_dump_json()
    refused = judge_document(told.replace("scram-sha-512", "of-tomorrow").encode(), boot=boot_data(), current=None)
    assert isinstance(refused, DocumentRejected)
    assert "cannot be read" in refused.reason


@pytest.mark.parametrize("version", ["4.0.1", "4.1.1", "4.2.0", "4.3.0"])
def test_who_gives_no_time_has_connections_of_an_hour(version: str) -> None:
    scram = TlsListener(name="SCRAM", port=9096, security="tls", authentication="scram-sha-512")
    tls = ServiceTls(super_users=SUPER_USERS, listeners=(scram,))
    service = TLS_BROKER.model_copy(update={"tls": tls, "kafka_version": version})
    lines = server_properties(service, log_dirs=LOG_DIRS, tls_dir=TLS_DIR).splitlines()
    assert "listener.name.scram.scram-sha-512.connections.max.reauth.ms=3600000" in lines
    assert "listener.name.scram.ssl.client.auth=none" in lines
    assert "listener.security.protocol.map=CONTROLPLANE:SSL,REPLICATION:SSL,SCRAM:SASL_SSL" in lines


@pytest.mark.parametrize(
    ("tls", "why"),
    [
        (ServiceTls(super_users=()), "no super user is named"),
        (ServiceTls(super_users=("User:CN=a;User:CN=mallory",)), "neither the name of a listener"),
        (
            ServiceTls(super_users=SUPER_USERS, listeners=(TlsListener(name="A.B", port=1, security="tls"),)),
            "neither the name of a listener",
        ),
        (
            ServiceTls(
                super_users=SUPER_USERS,
                listeners=(TlsListener(name="A", port=1, security="plaintext", authentication="scram-sha-512"),),
            ),
            "listener A would ask for passwords or certificates in plaintext",
        ),
    ],
)
def test_what_would_become_other_properties_is_refused(tls: ServiceTls, why: str) -> None:
    told = document(TLS_BROKER.model_copy(update={"tls": tls})).model_copy(update={"wire": TLS_WIRE_VERSION})
    refused = judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(refused, DocumentRejected)
    assert why in refused.reason
