"""What is held against a pair of clusters as they live."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.admission.failovers import check_failover_of
from events.ids import ClusterUid
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.problems import Problem
from tests.builders import a_document, a_view, a_zookeeper_document

PAIR = KafkaFailoverDocument.model_validate(
    {
        "metadata": {"name": "both"},
        "spec": {
            "clusters": ["orders", "orders-us"],
            "bootstrap": {"dns": "both.example"},
            "mode": "cold",
            "standby": {"size": 3},
        },
    }
)
NONE = empty_view(ClusterUid(""))


def founded(first: int | None) -> ClusterView:
    view = a_view()
    assert view.quorum.founding is not None
    return replace(view, quorum=replace(view.quorum, founding=replace(view.quorum.founding, first_producer_id=first)))


def held_against(one: ClusterView, other: ClusterView) -> list[Problem]:
    return check_failover_of(PAIR, {"orders": one, "orders-us": other}, {})


def test_clusters_whose_producer_ids_never_meet_are_a_pair() -> None:
    assert held_against(founded(2**44), founded(2**45)) == []


def test_a_cluster_that_is_not_there_is_named_with_its_place_in_the_list() -> None:
    found = held_against(founded(2**44), NONE)
    assert [(p.code, p.path) for p in found] == [("KEDGE-SPEC-162", "spec.clusters[1]")]
    assert "orders-us" in found[0].message


def test_a_cluster_of_the_same_file_is_there_and_counts_as_it_is_declared() -> None:
    living = {"orders": founded(2**44), "orders-us": NONE}
    assert check_failover_of(PAIR, living, {"orders-us": a_document()}) == []
    old = a_zookeeper_document()
    old = old.model_copy(update={"metadata": old.metadata.model_copy(update={"name": "orders-us"})})
    assert [p.code for p in check_failover_of(PAIR, living, {"orders-us": old})] == ["KEDGE-SPEC-162"]


def test_unknown_and_equal_producer_ids_are_told() -> None:
    """Acknowledged records of producers that move would be in no log."""
    for one, other in ((None, 2**44), (2**44, None), (2**44, 2**44)):
        [found] = held_against(founded(one), founded(other))
        assert (found.code, found.severity) == ("KEDGE-SPEC-170", "warning")
        assert "restarted" in found.message
    assert len(held_against(founded(None), founded(None))) == 2


def test_a_cluster_that_is_not_founded_yet_gets_ids_of_its_own() -> None:
    assert held_against(founded(2**44), a_view(founding=None)) == []
