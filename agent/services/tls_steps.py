"""A node between plaintext and TLS: what the steps of a living cluster leave otherwise than at their end. Pure text;
the values were run with Kafka 4.1 and 4.2, on three controllers and three brokers under traffic.

    C1  controllers listen by CONTROLPLANE, too, and are spoken to by CONTROLLER as before
    B1  brokers speak to controllers by CONTROLPLANE, and listen by REPLICATION and the spec's listeners, too
    C2  controllers speak to one another by CONTROLPLANE; who may do what is asked from here on
    B2  brokers speak to one another by REPLICATION

In mode `zookeeper` brokers speak to the ensemble by TLS from B1 on, and B2 makes what they write there the nodes' own:
before, one that comes in plaintext could not change it. Its servers have `zoo_tls`.

The first of `controller.listener.names` is what a node dials by, and all of them are opened. A voter writes its
endpoints into the metadata log at each start (UpdateRaftVoter), and a leader refuses one that lacks the listener it
dials by itself: so none may go from C1 to the end without C2.
"""

from collections.abc import Mapping

from agent.host_port import HostPort
from agent.services.tls_properties import CONTROLPLANE, REPLICATION
from agent.wire import ServiceDocument, ServiceTls

CONTROLLER, PLAINTEXT = "CONTROLLER", "PLAINTEXT"

_RIGHTS = ("authorizer.class.name", "allow.everyone.if.no.acl.found", "super.users")
"""Not before C2: brokers ask the controllers' authorizer, and until B2 nodes may be nobody to one another."""
_OWNS = "zookeeper.set.acl"
_BEFORE_B2 = (*_RIGHTS, _OWNS)


def at_step(service: ServiceDocument, tls: ServiceTls, final: Mapping[str, str]) -> dict[str, str]:
    """The keys at the step of the document, of those a node has at the end (`tls_properties`)."""
    if tls.step is None:
        return dict(final)
    # On every node, as a broker that knows a listener by name alone has to know what is spoken there.
    mapped = dict(entry.split(":") for entry in final["listener.security.protocol.map"].split(","))
    begun = {CONTROLLER: "PLAINTEXT", PLAINTEXT: "PLAINTEXT", CONTROLPLANE: "SSL", REPLICATION: "SSL"}
    if service.is_zookeeper_mode:
        begun = {PLAINTEXT: "PLAINTEXT", REPLICATION: "SSL"}
    mapped = begun | mapped
    keys = {k: v for k, v in final.items() if tls.step in ("C2", "B2") or k not in _BEFORE_B2}
    keys["listener.security.protocol.map"] = ",".join(f"{name}:{protocol}" for name, protocol in mapped.items())
    if service.name == "broker":
        return keys | {"inter.broker.listener.name": PLAINTEXT if tls.step == "B1" else REPLICATION}
    names = (CONTROLLER, CONTROLPLANE) if tls.step == "C1" else (CONTROLPLANE, CONTROLLER)
    ports = {CONTROLLER: tls.plain_port, CONTROLPLANE: service.port}
    endpoints = ",".join(f"{name}://{HostPort(service.address, ports[name])}" for name in names)
    return keys | {
        "controller.listener.names": ",".join(names),
        "listeners": endpoints,
        "advertised.listeners": endpoints,
    }


_LETTERS = {"broker": "B", "controller": "C", "zookeeper": "Z"}


def wrong_step(service: ServiceDocument, tls: ServiceTls) -> str:
    """Why nothing is rendered of this step, "" where all is well."""
    if tls.step is None:
        return ""
    if _LETTERS[service.name] != tls.step[0]:
        return f"{tls.step} is no step of a {service.name}"
    if service.name != "broker":
        return "" if tls.plain_port else f"nobody says where it listens in plaintext at {tls.step}"
    # Brokers that have not made the step yet know the others by this name alone.
    has_plaintext = any((one.name, one.security) == (PLAINTEXT, "plaintext") for one in tls.listeners)
    return "" if has_plaintext else f"a broker at {tls.step} has no listener {PLAINTEXT}"
