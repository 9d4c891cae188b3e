"""What a service is to be started with for clients next, where a token could call itself as a node does.

A principal is a text to Kafka, and a token says any text of itself but one: Kafka takes the blanks off both ends
(`ClaimValidationUtils.validateSubject` of 4.1, 4.2 and 4.3). So before a listener asks for tokens nodes and Kedge get
names that begin with a blank, which their listeners make of their certificates' subjects. Brokers pass on to
controllers who asked, by name: a controller has to know the new names before any broker uses them, and forget the old
ones before a token can be called so. Hence four rounds of restarts in a living cluster, none in one that is born so:

    controllers know both -> brokers use the new ones -> controllers forget the old ones -> brokers listen for tokens
"""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events.spec.client_security import ClientSecurity, NodeNames, client_security
from events.spec.model import KafkaClusterDocument
from planner.rollout.security_steps import OVER

_RANK: tuple[NodeNames, ...] = ("subject", "both", "marked")


def security_to_have(view: ClusterView, document: KafkaClusterDocument, service: str) -> ClientSecurity | None:
    """What a `broker` or `controller` of that spec is to be started with next; None where nodes speak plaintext."""
    wanted = client_security(document, service)
    if wanted is None:
        return None
    names, may_take_tokens = _names_next(view, document, service)
    listeners = wanted.listeners
    if not may_take_tokens:
        listeners = tuple(one for one in listeners if one.authentication.type != "oauth")
    return replace(wanted, names=names, listeners=listeners)


def _names_next(view: ClusterView, document: KafkaClusterDocument, service: str) -> tuple[NodeNames, bool]:
    """By what it is to know nodes, and whether listeners may ask for tokens yet. What has begun goes to its end."""
    takes_tokens = takes_tokens_by(document)
    running = _running(view)
    if not running:
        return ("marked" if takes_tokens else "subject"), True
    if any(tls_step_of(view, one) != OVER for one in running):
        return "subject", False
    controllers = {_known_by(view, one) for one in running if one.planned.service == "controller"}
    brokers = {_known_by(view, one) for one in running if one.planned.service == "broker"}
    if not takes_tokens and controllers | brokers == {"subject"}:
        return "subject", True
    if "subject" in controllers:
        return ("both" if service == "controller" else "subject"), False
    if "subject" in brokers:
        return ("both" if service == "controller" else "marked"), False
    return "marked", "both" not in controllers


def names_of_kedge(view: ClusterView) -> tuple[bool, bool]:
    """Whether Kedge has its rights by the subjects of its certificates, and by names that no token can have: by what
    each broker that may run knows it."""
    running = _running(view)
    known = {_known_by(view, one) for one in running if one.planned.service == "broker"}
    if not running:
        takes_tokens = view.document is not None and takes_tokens_by(view.document)
        return not takes_tokens, takes_tokens
    begun = any(_known_by(view, one) != "subject" for one in running)
    return not known or "subject" in known or not begun, begun


def takes_tokens_by(document: KafkaClusterDocument) -> bool:
    """Whether a listener of a spec asks for tokens."""
    return any(one.authentication.type == "oauth" for one in document.spec.listeners)


def _running(view: ClusterView) -> list[InstanceView]:
    """Services that may run, as far as they are told something of clients."""
    there = (one for one in view.alive() if one.phase is not Phase.RETIRING and not one.lost)
    return [one for one in there if one.start.security is not None]


def _known_by(view: ClusterView, instance: InstanceView) -> NodeNames:
    """By what its process knows nodes: of one that is being restarted nobody knows yet which of the two runs."""
    told = [instance.start.security]
    in_hand = view.settings.restarts.get(instance.key)
    if in_hand is not None and not in_hand.service:
        told.append(in_hand.before.security)
    return min((one.names for one in told if one is not None), key=_RANK.index)
