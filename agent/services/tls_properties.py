"""What a node that speaks TLS has in `server.properties` beside the rest. Pure text; the values were run with Kafka 4.1
and 4.2, three controllers and three brokers, and with 3.9 and three ZooKeeper servers, mTLS between them (KIP-651 for
PEM files).

Controllers are reached at CONTROLPLANE, brokers by one another at REPLICATION: both ask for a certificate of the
cluster's CA. Clients have the listeners of the spec.

Who migrates (KIP-866) has the keys of both modes: controllers go to the ensemble and write what brokers own there as
those do, and send brokers what a controller of ZooKeeper's would, by REPLICATION. Each asks the authorizer of the mode
it is in: what people change is written to both.
"""

from collections.abc import Mapping
from pathlib import Path

from agent.host_port import HostPort
from agent.services.token_properties import token_properties
from agent.wire import ServiceDocument, ServiceTls, TlsListener

CONTROLPLANE, REPLICATION = "CONTROLPLANE", "REPLICATION"

NODE_PEM, CLUSTER_CA, CLIENTS_CA = "node.pem", "cluster-ca.pem", "clients-ca.pem"
"""Key (PKCS#8), certificate and chain of the node, in this order, which is the one Kafka takes; whom it believes."""

_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ZOOKEEPER_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_REAUTHENTICATE_S = 3600
_SCRAM = "SCRAM-SHA-512"
_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
"""Without a name and a password: brokers sign in nowhere with it, users are in the metadata log."""
_USERS = r"RULE:^CN=([a-z0-9._-]+)$/$1/"
"""`CN=alice` is the user `alice`. Without DEFAULT at its end: what it does not match gets nowhere."""


def tls_properties(service: ServiceDocument, tls: ServiceTls, folder: Path) -> dict[str, str]:
    """The keys, over those of a plaintext node. `folder` has the three files above."""
    knows_quorum = service.is_migrating or not service.is_zookeeper_mode
    owned = {
        **(_to_quorum(service, folder, tls) if knows_quorum else {}),
        **(_to_zookeeper(folder) if service.ensemble else {}),
        "authorizer.class.name": _ZOOKEEPER_AUTHORIZER if service.is_zookeeper_mode else _AUTHORIZER,
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(tls.super_users),  # right before the first start: no admin call could mend it
    }
    if service.name != "broker":
        endpoint = f"{CONTROLPLANE}://{HostPort(service.address, service.port)}"
        return {
            **owned,
            "listeners": endpoint,
            "advertised.listeners": endpoint,
            "listener.security.protocol.map": f"{CONTROLPLANE}:SSL",
            **(_to_brokers_of_zookeeper(folder, tls) if service.is_migrating else {}),
        }
    mapped = {CONTROLPLANE: "SSL"} if knows_quorum else {}
    mapped |= {REPLICATION: "SSL"} | {one.name: _protocol(one) for one in tls.listeners}
    there = [(REPLICATION, service.port), *((one.name, one.port) for one in tls.listeners)]
    endpoints = ",".join(f"{name}://{HostPort(service.address, port)}" for name, port in there)
    for one in tls.listeners:
        owned |= _of_clients(one, folder)
    return {
        **owned,
        **_of_nodes(REPLICATION, folder, tls),
        "listeners": endpoints,
        "advertised.listeners": endpoints,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in mapped.items()),
        "inter.broker.listener.name": REPLICATION,
    }


def _to_quorum(service: ServiceDocument, folder: Path, tls: ServiceTls) -> Mapping[str, str]:
    return {
        "controller.listener.names": CONTROLPLANE,
        "controller.quorum.bootstrap.servers": ",".join(str(HostPort(v.address, v.port)) for v in service.voters),
        **_of_nodes(CONTROLPLANE, folder, tls),
    }


def _to_brokers_of_zookeeper(folder: Path, tls: ServiceTls) -> Mapping[str, str]:
    return {
        **_of_nodes(REPLICATION, folder, tls),
        "listener.security.protocol.map": f"{CONTROLPLANE}:SSL,{REPLICATION}:SSL",
        "inter.broker.listener.name": REPLICATION,
    }


def _to_zookeeper(folder: Path) -> Mapping[str, str]:
    """Kafka 3.9, "ZooKeeper Authentication" (KIP-515). What brokers write there nodes alone may change, and nodes alone
    read what is of users: ZooKeeper knows them by the subject of their certificate, which is the same for all."""
    return {
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.ssl.keystore.type": "PEM",
        "zookeeper.ssl.keystore.location": str(folder / NODE_PEM),
        "zookeeper.ssl.truststore.type": "PEM",
        "zookeeper.ssl.truststore.location": str(folder / CLUSTER_CA),
        "zookeeper.set.acl": "true",
    }


def _protocol(listener: TlsListener) -> str:
    if listener.security == "plaintext":
        return "PLAINTEXT"
    return "SASL_SSL" if listener.authentication in ("scram-sha-512", "oauth") else "SSL"


def _of_nodes(listener: str, folder: Path, tls: ServiceTls) -> Mapping[str, str]:
    """A node is its certificate's subject, or what the rules make of it."""
    keys = _keys(listener, folder, clients="required", believes=CLUSTER_CA)
    rules = {f"listener.name.{listener.lower()}.ssl.principal.mapping.rules": tls.mapping_rules}
    return {**keys, **rules} if tls.mapping_rules else keys


def _of_clients(listener: TlsListener, folder: Path) -> Mapping[str, str]:
    """Brokers show themselves by the certificate of the node; who has to prove themselves does so by the clients CA."""
    if listener.security == "plaintext":
        return {}
    if listener.authentication == "none":
        return _keys(listener.name, folder, clients="none")
    if listener.authentication == "scram-sha-512":
        return {**_keys(listener.name, folder, clients="none"), **_scram(listener)}
    if listener.tokens is not None:
        return {**_keys(listener.name, folder, clients="none"), **token_properties(listener, listener.tokens, folder)}
    rule = {f"listener.name.{listener.name.lower()}.ssl.principal.mapping.rules": _USERS}
    return {**_keys(listener.name, folder, clients="required", believes=CLIENTS_CA), **rule}


def _scram(listener: TlsListener) -> dict[str, str]:
    """KIP-368: once the time is over a client signs in anew by itself, or its connection is closed. Who gave no time
    would have connections that outlive their password for ever."""
    prefix = f"listener.name.{listener.name.lower()}"
    after_s = listener.reauthenticate_s or _REAUTHENTICATE_S
    return {
        f"{prefix}.sasl.enabled.mechanisms": _SCRAM,
        f"{prefix}.{_SCRAM.lower()}.sasl.jaas.config": _LOGIN_MODULE,
        f"{prefix}.{_SCRAM.lower()}.connections.max.reauth.ms": str(1000 * after_s),
    }


def _keys(listener: str, folder: Path, *, clients: str, believes: str = "") -> dict[str, str]:
    prefix = f"listener.name.{listener.lower()}.ssl"
    keys = {f"{prefix}.keystore.type": "PEM", f"{prefix}.keystore.location": str(folder / NODE_PEM)}
    if believes:
        keys |= {f"{prefix}.truststore.type": "PEM", f"{prefix}.truststore.location": str(folder / believes)}
    return {**keys, f"{prefix}.client.auth": clients}
