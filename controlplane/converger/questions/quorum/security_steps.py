"""Who of a cluster between plaintext and TLS has not made the step in hand, and by what a controller is known to have
made it. Pure."""

from agent.host_port import HostPort, plain_host
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import TLS_CONTROLLER_PORT, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.security import SecurityView
from controlplane.converger.questions.quorum.quorum_ports import CONTROLLER_PORT
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import is_following
from controlplane.runtime.once import once
from planner.observed import EndpointSeen, KafkaSnapshot
from planner.rollout.security_steps import controller_listeners

STILL_RUNS_S = 10.0
"""A voter that its leader refuses ends itself some five seconds after it had caught up (run on 4.2.0)."""


def late_step(view: ClusterView, instance: InstanceView) -> str:
    """Why a service is to be started anew on the way to TLS, or back; "" where it need not be."""
    security, service = view.settings.security, instance.planned.service
    if security is None or not security.has_steps(service) or instance.launched_at is None:
        return ""
    return step_in_words(security) if instance.start.tls_step != security.config_of(service) else ""


@once
def has_late_step(view: ClusterView) -> bool:
    """Asked of every cluster at every tick."""
    return any(late_step(view, i) for i in view.alive())


def step_in_words(security: SecurityView) -> str:
    """`C1 of the way to TLS`, or `back from C1 of the way to TLS`."""
    if security.step is None:
        return "the way to TLS"
    return f"{'back from ' if security.is_undone else ''}{security.step.name} of the way to TLS"


def endpoint_trouble(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> str:
    """Why a controller cannot be counted on after its step, "" where it can: the metadata log, by which controllers and
    brokers find it, has to name it where it listens, it has caught up, and goes on running.

    Its port being open and it having caught up says nothing: a voter that is refused has both for some seconds.
    """
    if instance.planned.service != "controller" or situation.view.settings.security is None:
        return ""
    wanted, directory = wanted_endpoints(situation.view, instance), instance.planned.volumes[0].directory_id
    there = [m for m in kafka.quorum.members if (m.id, m.directory_id) == (instance.service_id, directory)]
    voter = next((m for m in there if m.is_voter), None)
    if voter is None:
        return f"controller {instance.service_id} has no vote"
    if voter.endpoints != wanted:
        return (
            f"the metadata log names controller {instance.service_id} at {_in_words(voter.endpoints)}, and it is to be "
            f"at {_in_words(wanted)}"
        )
    if not is_following(voter):
        return f"controller {instance.service_id} has not caught up"
    report = service_report(situation, instance)
    if report is None or report.state != "running":
        return f"controller {instance.service_id} does not run"
    runs_s = situation.seconds_since(report.since)
    return "" if runs_s >= STILL_RUNS_S else f"controller {instance.service_id} runs for {runs_s:.0f} s"


def wanted_endpoints(view: ClusterView, instance: InstanceView) -> frozenset[EndpointSeen]:
    """Where the metadata log has to name a controller after its last start."""
    listeners = controller_listeners(
        tls_step_of(view, instance), plain_port=CONTROLLER_PORT, tls_port=TLS_CONTROLLER_PORT
    )
    address = view.address_of(instance)
    return frozenset(EndpointSeen(name, plain_host(address), port) for name, port in listeners)


def _in_words(endpoints: frozenset[EndpointSeen]) -> str:
    told = sorted(f"{e.name}://{HostPort(e.host, e.port)}" for e in endpoints)
    return " and ".join(told) or "no address"
