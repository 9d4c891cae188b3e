"""What is held against a pair of clusters as they live, and against other pairs."""

from dataclasses import replace
from typing import Any

from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.topics import TopicView
from controlplane.commands.admission.failovers import PairSurroundings, check_failover_of
from controlplane.fleet.failovers.state import PairCache, PairsView
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Recorded
from events.ids import ClusterUid
from events.spec.failover_model import ColdStandby, KafkaFailoverDocument, PairBootstrap, PairTopics
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Problem
from events.topic_facts import TopicDeclaration
from tests.builders import NOW, a_document, a_view, a_zookeeper_document, an_instance

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


def founded(first: int | None, name: str = "orders") -> ClusterView:
    view = a_view(uid=ClusterUid(f"uid-{name}"), name=name, document=named(name))
    assert view.quorum.founding is not None
    return replace(view, quorum=replace(view.quorum, founding=replace(view.quorum.founding, first_producer_id=first)))


def named(name: str, *, owner: str = "", version: str = "") -> KafkaClusterDocument:
    document = a_document()
    kafka = document.spec.kafka.model_copy(update={"version": version} if version else {})
    metadata = document.metadata.model_copy(update={"name": name, "owner": owner})
    return document.model_copy(update={"metadata": metadata, "spec": document.spec.model_copy(update={"kafka": kafka})})


EU, US = founded(2**44), founded(2**45, "orders-us")


def held_against(
    one: ClusterView, other: ClusterView, *, pair: KafkaFailoverDocument = PAIR, **around: Any
) -> list[Problem]:
    return check_failover_of(pair, PairSurroundings({"orders": one, "orders-us": other}, **around))


def codes(found: list[Problem]) -> list[tuple[str, str, str]]:
    return [(p.code, p.severity, p.path) for p in found]


def pairs(pair: KafkaFailoverDocument, *clusters: str, uid: str = "1") -> PairsView:
    """One registered pair, declared so."""
    cache = PairCache()
    declared = facts.FailoverDeclared(
        pair.pair, *clusters[:2], pair.spec.mode, pair.model_dump(mode="json", by_alias=True)
    )
    for stream, fact in (
        (FAILOVERS, facts.PairRegistered(uid, pair.pair, clusters)),
        (pair_stream(uid), declared),
    ):
        event = encode(fact, stream)
        cache.take_in(Recorded(1, stream, 1, "e", event.type, event.schema, event.data, "person:a", None, None, 1, NOW))
    return cache.pairs()


def changed(**spec: Any) -> KafkaFailoverDocument:
    return PAIR.model_copy(update={"spec": PAIR.spec.model_copy(update=spec)})


def test_clusters_whose_producer_ids_never_meet_are_a_pair() -> None:
    assert held_against(EU, US) == []


def test_a_cluster_that_is_not_there_is_named_with_its_place_in_the_list() -> None:
    found = held_against(EU, NONE)
    assert [(p.code, p.path) for p in found] == [("KEDGE-SPEC-162", "spec.clusters[1]")]
    assert "orders-us" in found[0].message


def test_a_cluster_of_the_same_file_is_there_and_counts_as_it_is_declared() -> None:
    assert held_against(EU, NONE, beside={"orders-us": named("orders-us")}) == []
    old = a_zookeeper_document()
    old = old.model_copy(update={"metadata": old.metadata.model_copy(update={"name": "orders-us"})})
    assert "KEDGE-SPEC-162" in [p.code for p in held_against(EU, NONE, beside={"orders-us": old})]


def test_unknown_producer_ids_are_told_with_what_it_means() -> None:
    for one, other in ((None, 2**44), (2**44, None)):
        [found] = held_against(founded(one), founded(other, "orders-us"))
        assert (found.code, found.severity) == ("KEDGE-SPEC-170", "warning")
        assert "restarted" in found.message
    assert len(held_against(founded(None), founded(None, "orders-us"))) == 2


def test_the_same_producer_ids_are_refused() -> None:
    """Acknowledged records of producers that move would be in no log."""
    found = held_against(EU, founded(2**44, "orders-us"))
    assert codes(found) == [("KEDGE-SPEC-174", "error", "spec.clusters[1]")]


def test_a_cluster_that_is_not_founded_yet_gets_ids_of_its_own() -> None:
    assert held_against(EU, a_view(founding=None, name="orders-us", document=named("orders-us"))) == []


def test_a_pair_is_of_one_owner() -> None:
    eu, us = (replace(v, document=named(v.name, owner=o)) for v, o in ((EU, "sales"), (US, "search")))
    [found] = held_against(eu, us)
    assert (found.code, found.message) == ("KEDGE-SPEC-172", "orders is sales's, orders-us is search's")
    theirs = PAIR.model_copy(update={"metadata": PAIR.metadata.model_copy(update={"owner": "search"})})
    assert codes(held_against(eu, US, pair=theirs)) == [("KEDGE-SPEC-172", "error", "metadata.owner")]
    assert held_against(eu, US) == []  # the other one names nobody


def test_two_versions_of_kafka_are_told() -> None:
    older = "4.1.0" if EU.document and EU.document.spec.kafka.version != "4.1.0" else "4.1.1"
    found = held_against(EU, replace(US, document=named("orders-us", version=older)))
    assert codes(found) == [("KEDGE-SPEC-175", "warning", "spec.clusters")]


def topics(view: ClusterView, *declared: TopicDeclaration) -> ClusterView:
    by_name = {t.name: TopicView(t, "api", "", "", NOW) for t in declared}
    return replace(view, topics=replace(view.topics, by_name=by_name))


def topic(name: str, replicas: int = 3, tier: str = "standard") -> TopicDeclaration:
    return TopicDeclaration(name, 6, replicas, {}, tier, "", "retain", "wait", {})


def test_topics_that_differ_are_refused_but_for_those_of_no_pair() -> None:
    scratch, mine, other = topic("tmp", tier="scratch"), topic("clicks"), topic("clicks", 2)
    [found] = held_against(topics(EU, mine, scratch), topics(US, other, scratch))
    assert (found.code, found.path) == ("KEDGE-SPEC-165", "spec.clusters")
    assert found.message == "`clicks` is declared of both clusters, and not alike"
    without = changed(topics=PairTopics(exclude=("clicks",)))
    assert held_against(topics(EU, mine), topics(US, other), pair=without) == []


def test_a_pair_that_was_withdrawn_after_a_failover_is_declared_anew_though_both_have_its_topics() -> None:
    assert held_against(topics(EU, topic("clicks")), topics(US, topic("clicks"))) == []


def test_a_topic_with_more_replicas_than_the_standby_will_have_brokers_is_refused() -> None:
    wide = topics(EU, topic("a", 4), topic("b", 3))
    assert codes(held_against(wide, US, pair=changed(standby=ColdStandby(size=3, resize_to=3)))) == [
        ("KEDGE-SPEC-166", "error", "spec.clusters")
    ]
    assert held_against(wide, US, pair=changed(standby=ColdStandby(size=3, resize_to=4))) == []


def test_a_cluster_is_of_one_pair() -> None:
    other = PAIR.model_copy(update={"metadata": PAIR.metadata.model_copy(update={"name": "first"})})
    found = held_against(EU, US, pairs=pairs(other, "uid-orders-us", "uid-elsewhere"))
    assert codes(found) == [
        ("KEDGE-SPEC-161", "error", "spec.clusters[1]"),
        ("KEDGE-SPEC-164", "error", "spec.bootstrap.dns"),
    ]
    assert "`first`" in found[0].message


def test_the_name_of_a_cluster_elsewhere_is_no_name_of_a_pair() -> None:
    found = held_against(EU, US, names={"both.example": "search"})
    assert [(p.code, p.message) for p in found] == [("KEDGE-SPEC-164", "`both.example` is the name of search")]


def test_a_pair_that_is_there_keeps_its_clusters_their_order_its_name_and_its_mode() -> None:
    there = pairs(PAIR, "uid-orders", "uid-orders-us")
    for document, path in (
        (changed(clusters=("orders-us", "orders")), "spec.clusters"),
        (changed(bootstrap=PairBootstrap(dns="other.example")), "spec.bootstrap.dns"),
        (changed(mode="warm"), "spec.mode"),
    ):
        assert codes(held_against(EU, US, pair=document, pairs=there))[-1] == ("KEDGE-SPEC-173", "error", path)
    assert held_against(EU, US, pair=changed(standby=ColdStandby(size=4)), pairs=there) == []


def test_a_cluster_that_was_deleted_and_made_again_is_another_one() -> None:
    found = held_against(EU, replace(US, uid=ClusterUid("another")), pairs=pairs(PAIR, "uid-orders", "uid-orders-us"))
    assert codes(found) == [("KEDGE-SPEC-173", "error", "spec.clusters")]


def test_a_cluster_whose_vms_share_the_machines_loopback_has_no_door_that_could_be_shut() -> None:
    there = replace(US, instances={**US.instances, "brokers-a-0.g1": an_instance("brokers-a-0", address="127.64.0.9")})
    found = held_against(EU, there)
    assert codes(found) == [("KEDGE-SPEC-176", "error", "spec.clusters[1]")]
    assert "vm_network" in found[0].fix
