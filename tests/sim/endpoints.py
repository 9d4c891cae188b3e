"""Who of a simulated cluster finds whom, by the listeners their documents tell: what the way to TLS rests on.

As Kafka does it (run on 4.2.0): a node dials by the first of its `controller.listener.names`, a broker others by its
`inter.broker.listener.name`; a leader refuses a voter whose endpoints lack the listener it dials by itself, and that
voter ends itself.
"""

from collections.abc import Iterable

from agent.wire import ServiceDocument
from planner.observed import EndpointSeen

_PLAIN, _TLS = "CONTROLLER", "CONTROLPLANE"


def endpoints_of(service: ServiceDocument) -> tuple[EndpointSeen, ...]:
    """Of a controller, in the order of its `controller.listener.names`."""
    if service.tls is None:
        return (EndpointSeen(_PLAIN, service.address, service.port),)
    tls = EndpointSeen(_TLS, service.address, service.port)
    if service.tls.step is None:
        return (tls,)
    plain = EndpointSeen(_PLAIN, service.address, service.tls.plain_port)
    return (plain, tls) if service.tls.step == "C1" else (tls, plain)


def not_found(starting: ServiceDocument, running: Iterable[ServiceDocument], leader: int) -> str:
    """Who does not find whom once that service runs beside these, "" where all find one another."""
    others = [s for s in running if (s.name, s.node_id) != (starting.name, starting.node_id)]
    controllers = [s for s in (*others, starting) if s.name == "controller"]
    brokers = [s for s in (*others, starting) if s.name == "broker"]
    if starting.name == "controller":
        led_by = next((s for s in others if s.name == "controller" and s.node_id == leader), None)
        if led_by is not None and endpoints_of(led_by)[0].name not in _names(starting):
            return f"controller {starting.node_id} lacks the listener its leader {leader} dials by: it would end itself"
    for broker in (b for b in brokers if b.voters):
        dials = _PLAIN if broker.tls is None else _TLS
        for controller in controllers:
            if dials not in _names(controller):
                return (
                    f"broker {broker.node_id} dials {dials}, and controller {controller.node_id} does not listen by it"
                )
    listened = [(b, _listeners(b)) for b in brokers]
    for broker in brokers:
        step = broker.tls.step if broker.tls else "plain"
        dials = "PLAINTEXT" if step in ("plain", "B1") else "REPLICATION"
        deaf = next((b for b, names in listened if b is not broker and dials not in names), None)
        if deaf is not None:
            return f"broker {broker.node_id} dials others by {dials}, and broker {deaf.node_id} does not listen by it"
    return ""


def _names(controller: ServiceDocument) -> set[str]:
    return {one.name for one in endpoints_of(controller)}


def _listeners(broker: ServiceDocument) -> set[str]:
    if broker.tls is None:
        return {"PLAINTEXT"}
    return {"REPLICATION", *(one.name for one in broker.tls.listeners)}
