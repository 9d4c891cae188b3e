"""By what a controller is known to have made its step: neither its port nor its lag tells (run on 4.2.0)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.security import SecurityView
from controlplane.converger.questions.quorum.security_steps import endpoint_trouble
from planner.observed import EndpointSeen, KafkaSnapshot
from tests.builders import NOW, a_report, a_situation, a_snapshot, a_view, an_instance

NODE = "controllers-a-0"
PLAIN, TLS = (
    EndpointSeen("CONTROLLER", f"node-address-{NODE}", 9093),
    EndpointSeen("CONTROLPLANE", f"node-address-{NODE}", 9090),
)


def _view(step: str, security: SecurityView | None) -> tuple[ClusterView, InstanceView]:
    instance = an_instance(NODE, tls_step=step)
    return a_view(instance, security=security), instance


def _kafka(*endpoints: EndpointSeen, lag: int = 0) -> KafkaSnapshot:
    kafka = a_snapshot()
    members = tuple(
        replace(m, endpoints=frozenset(endpoints), lag=lag) if m.id == 100 else m for m in kafka.quorum.members
    )
    return replace(kafka, quorum=replace(kafka.quorum, members=members))


def _trouble(step: str, kafka: KafkaSnapshot, *, runs_s: float = 60.0, state: str = "running") -> str:
    view, instance = _view(step, SecurityView(0, 1, 1))
    report = a_report(instance, state, since=NOW - timedelta(seconds=runs_s))
    return endpoint_trouble(a_situation(view, kafka=kafka, reports={instance.key: report}), kafka, instance)


@pytest.mark.parametrize(
    ("step", "endpoints"), [("", (PLAIN,)), ("C1", (PLAIN, TLS)), ("C2", (TLS, PLAIN)), ("tls", (TLS,))]
)
def test_the_metadata_log_has_to_name_it_where_it_listens(step: str, endpoints: tuple[EndpointSeen, ...]) -> None:
    assert _trouble(step, _kafka(*endpoints)) == ""
    wrong = (TLS,) if step != "tls" else (TLS, PLAIN)
    said = _trouble(step, _kafka(*wrong))
    assert said.startswith("the metadata log names controller 100 at CONTROL")
    assert ", and it is to be at CONTROL" in said
    assert "at no address" in _trouble(step, _kafka()), "a leader that does not tell is no yes"


def test_one_that_lags_or_does_not_run_or_has_only_just_come_up_is_waited_for() -> None:
    assert _trouble("C1", _kafka(PLAIN, TLS, lag=100_000)) == "controller 100 has not caught up"
    assert _trouble("C1", _kafka(PLAIN, TLS), state="failed") == "controller 100 does not run"
    assert _trouble("C1", _kafka(PLAIN, TLS), runs_s=9.0) == "controller 100 runs for 9 s"
    assert _trouble("C1", _kafka(PLAIN, TLS), runs_s=10.0) == ""


def test_brokers_and_clusters_that_keep_what_they_were_born_with_are_not_asked() -> None:
    view, instance = _view("", None)
    kafka = _kafka()
    assert endpoint_trouble(a_situation(view, kafka=kafka), kafka, instance) == ""
    broker = view.instances["brokers-a-0.g1"]
    assert endpoint_trouble(a_situation(view, kafka=kafka), kafka, broker) == ""


def test_an_ipv6_address_is_the_same_however_it_is_written_and_told_with_brackets() -> None:
    instance = an_instance(NODE, tls_step="")
    spelled = {NODE: "fd5a:0:0:0:c:0:0:64"}
    view = a_view(instance, security=SecurityView(0, 1, 1), node_addresses=spelled)
    reports = {instance.key: a_report(instance, "running", since=NOW - timedelta(seconds=60))}
    right, wrong = (_kafka(EndpointSeen("CONTROLLER", host, 9093)) for host in ("fd5a::c:0:0:64", "fd5a::c:0:0:65"))
    assert endpoint_trouble(a_situation(view, kafka=right, reports=reports), right, instance) == ""
    said = endpoint_trouble(a_situation(view, kafka=wrong, reports=reports), wrong, instance)
    assert "CONTROLLER://[fd5a::c:0:0:65]:9093, and it is to be at CONTROLLER://[fd5a::c:0:0:64]:9093" in said
