"""Where the metadata log names each voter, of the answer of a leader (DescribeQuorum, KIP-853)."""

from types import SimpleNamespace
from uuid import UUID

from controlplane.kafka.metadata_log import log_of
from planner.observed import EndpointSeen


def _state(controller: int) -> SimpleNamespace:
    return SimpleNamespace(
        replica_id=controller,
        replica_directory_id=UUID(int=controller),
        log_end_offset=100,
        last_fetch_timestamp=1000,
        last_caught_up_timestamp=1000,
    )


def _answer(**more: object) -> SimpleNamespace:
    partition = SimpleNamespace(
        error_code=0,
        error_message=None,
        leader_id=100,
        leader_epoch=3,
        current_voters=[_state(100), _state(101)],
        observers=[_state(1000)],
    )
    topic = SimpleNamespace(partitions=[partition])
    return SimpleNamespace(error_code=0, error_message=None, topics=[topic], **more)


def test_each_voter_has_the_endpoints_of_the_log_and_nobody_else_any() -> None:
    plain, tls = SimpleNamespace(name="CONTROLLER", host="10.0.0.1", port=9093), ("CONTROLPLANE", "10.0.0.1", 9090)
    nodes = [SimpleNamespace(node_id=100, listeners=[plain, SimpleNamespace(**dict(zip(_NAMES, tls, strict=True)))])]
    members = log_of(_answer(nodes=nodes), "orders").quorum.members
    assert members[0].endpoints == {EndpointSeen("CONTROLLER", "10.0.0.1", 9093), EndpointSeen(*tls)}
    assert [member.endpoints for member in members[1:]] == [frozenset(), frozenset()]


def test_an_address_of_version_6_is_in_its_shortest_form_as_the_view_has_it() -> None:
    spelled = SimpleNamespace(name="CONTROLLER", host="fd5a:0:0:0:c:0:0:64", port=9093)
    (member, *_) = log_of(_answer(nodes=[SimpleNamespace(node_id=100, listeners=[spelled])]), "orders").quorum.members
    assert member.endpoints == {EndpointSeen("CONTROLLER", "fd5a::c:0:0:64", 9093)}


def test_of_a_leader_before_kafka_3_9_nobody_knows() -> None:
    assert {member.endpoints for member in log_of(_answer(), "orders").quorum.members} == {frozenset()}


_NAMES = ("name", "host", "port")
