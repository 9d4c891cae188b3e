"""What a plan says of clients that are too old for the version it brings."""

from dataclasses import replace

from agent.wire import OldClientReport, Report, ServiceReport
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.old_clients import MOST_NAMED, old_client_warnings
from events.spec.model import KafkaClusterDocument
from tests.builders import NOW, a_document, a_planned, a_view, an_instance

OLD = OldClientReport(request="Fetch", version=2, software="librdkafka", software_version="0.11.6", requests=9)
NAMELESS = OldClientReport(request="ListOffsets", version=0, software="unknown", software_version="unknown", requests=9)


def running(version: str) -> ClusterView:
    """Two brokers of that version."""
    nodes = ("brokers-a-0", "brokers-b-0")
    planned = {f"{node}.g1": a_planned(node, kafka_version=version) for node in nodes}
    return replace(a_view(), instances={k: replace(an_instance(p.node), planned=p) for k, p in planned.items()})


def to(version: str) -> KafkaClusterDocument:
    document = a_document()
    kafka = document.spec.kafka.model_copy(update={"version": version})
    return document.model_copy(update={"spec": document.spec.model_copy(update={"kafka": kafka})})


def report(node: str, *clients: OldClientReport) -> Report:
    service = ServiceReport(name="broker", state="running", start_id="s", since=NOW, old_clients=clients)
    return Report(
        cluster_uid="u",
        node=node,
        generation=1,
        boot_id="b",
        seq=1,
        at=NOW,
        agent_version="1",
        epoch=1,
        services=(service,),
    )


def test_a_plan_without_another_version_says_nothing() -> None:
    assert old_client_warnings(running("3.9.1"), to("3.9.1"), [report("brokers-a-0", OLD)]) == ()


def test_clients_the_target_refuses_are_named_with_what_they_speak_and_where_it_was_seen() -> None:
    reports = [report("brokers-a-0", OLD), report("brokers-b-0", OLD, NAMELESS)]
    assert old_client_warnings(running("3.9.1"), to("4.1.1"), reports) == (
        "clients speak versions that Kafka 4.1.1 refuses:",
        "clients that do not name themselves (older than Kafka 2.4): ListOffsets v0 (seen by brokers-b-0.g1)",
        "librdkafka 0.11.6: Fetch v2 (seen by brokers-a-0.g1, brokers-b-0.g1)",
    )


def test_within_a_major_version_they_are_told_of_as_of_the_next_one() -> None:
    told = old_client_warnings(running("3.8.1"), to("3.9.1"), [report("brokers-a-0", OLD)])
    assert told[0] == "clients speak versions that Kafka 4 will refuse; 3.9.1 answers them:"
    assert len(told) == 2, "and of the broker nobody has heard of nothing is said: it does not matter yet"


def test_a_broker_nobody_has_heard_of_is_no_proof_before_a_major_version() -> None:
    told = old_client_warnings(running("3.9.1"), to("4.1.1"), [report("brokers-a-0")])
    assert told == ("of the clients of brokers-b-0.g1 nothing is known: their agents tell nothing",)


def test_many_are_counted() -> None:
    many = [OLD.model_copy(update={"software_version": f"0.{n}"}) for n in range(MOST_NAMED + 2)]
    told = old_client_warnings(running("3.8.1"), to("3.9.1"), [report("brokers-a-0", *many)])
    assert told[-1] == "and 2 clients more"
    assert len(told) == MOST_NAMED + 2


def test_clusters_whose_clients_are_young_enough_are_told_nothing() -> None:
    assert old_client_warnings(running("4.1.1"), to("4.2.0"), [report("brokers-a-0")]) == ()
