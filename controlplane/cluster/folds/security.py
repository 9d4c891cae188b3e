"""The fold of the way from plaintext to TLS between nodes: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.node_names import security_to_have
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView, StartView
from controlplane.cluster.views.security import SecurityView
from events import facts
from events.spec.client_security import ClientSecurity
from events.spec.model import KafkaClusterDocument
from planner.rollout.security_steps import PLAIN, between


def declared(view: ClusterView, document: KafkaClusterDocument) -> ClusterView:
    """The first spec that says otherwise than the cluster was born: from here on it is recorded who was told what."""
    before = view.document
    if before is None or view.settings.security is not None:
        return view
    if before.spec.security.internal == document.spec.security.internal:
        return view
    told = {k: replace(i, start=replace(i.start, tls_step=tls_step_of(view, i))) for k, i in view.instances.items()}
    return _with(replace(view, instances=frozen(told)), view.security)


def started(view: ClusterView, instance: InstanceView, start: StartView) -> InstanceView:
    """The instance with the start it was just given: at the step of now, unless it is given back what it had before."""
    if view.settings.security is None:
        return replace(instance, start=start)
    restart = view.settings.restarts.get(instance.key)
    if restart is not None and restart.reverting and not restart.service:
        return replace(instance, start=replace(start, tls_step=restart.before.tls_step))
    step = view.settings.security.config_of(instance.planned.service)
    return replace(instance, start=replace(start, tls_step=step, security=_of_clients(view, instance, step)))


def _of_clients(view: ClusterView, instance: InstanceView, step: str) -> ClientSecurity | None:
    """On the way back, which a spec without TLS asks for, who stands keeps the listeners it has."""
    service, document = instance.planned.service, view.document
    if step == PLAIN or document is None:
        return None
    if document.spec.security.internal == "tls":
        return security_to_have(view, document, service)
    listeners = tuple(one.as_started for one in document.spec.listeners) if service == "broker" else ()
    return instance.start.security or ClientSecurity(listeners, (), True)


def _requested(view: ClusterView, e: facts.SecurityStepRequested, at: datetime) -> ClusterView:
    security = _known(view)
    if security.is_in_hand:
        if e.position not in (security.low, security.high) or e.position == security.to:
            raise ValueError(f"between positions {security.low} and {security.high} no step leads to {e.position}")
        return _with(view, replace(security, to=e.position, since=at))
    between(security.to, e.position)
    low, high = sorted((security.to, e.position))
    return _with(view, replace(security, low=low, high=high, to=e.position, since=at))


def _completed(view: ClusterView, e: facts.SecurityStepCompleted, at: datetime) -> ClusterView:
    security = _known(view)
    if not security.is_in_hand or e.position != security.to:
        raise ValueError(f"no step to position {e.position} is in hand")
    made = replace(security, low=e.position, high=e.position, since=at)
    view = _with(_without_ended(view, made), made)
    if made.has_authorizer:
        return view
    # Who went back from there takes no ACLs any more, and somebody may have deleted ours before they do again.
    return replace(view, settings=replace(view.settings, least_rights=False))


def _least_rights_begun(view: ClusterView, e: facts.LeastRightsBegun, at: datetime) -> ClusterView:
    """Before the cluster is founded nobody has been started yet: all of them begin so."""
    view = replace(view, settings=replace(view.settings, least_rights=True))
    if view.quorum.founding is not None:
        return view
    told = {k: replace(i, start=replace(i.start, least_rights=True)) for k, i in view.instances.items()}
    return replace(view, instances=frozen(told))


def _without_ended(view: ClusterView, made: SecurityView) -> ClusterView:
    """Who speaks plaintext again shows no certificate: the last one it had is none that ends, or is to be renewed."""
    there = {k: one for k, one in view.vms.certificates.items() if k in view.instances}
    shown = {k: one for k, one in there.items() if made.config_of(view.instances[k].planned.service) != PLAIN}
    return replace(view, vms=replace(view.vms, certificates=frozen(shown)))


def _known(view: ClusterView) -> SecurityView:
    if view.settings.security is None:
        raise ValueError("no spec asked for another security between nodes than the cluster was born with")
    return view.settings.security


def _with(view: ClusterView, security: SecurityView) -> ClusterView:
    return replace(view, settings=replace(view.settings, security=security))


RULES: Rules = {
    facts.SecurityStepRequested: _requested,
    facts.SecurityStepCompleted: _completed,
    facts.LeastRightsBegun: _least_rights_begun,
}
