"""Which topics of metrics are read, by whom, and where agents send to."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from controlplane.background.metric_pipeline.reconciler import PipelineReconciler
from controlplane.background.metric_pipeline.sources import ReaderTlsOf, wanted_sources
from controlplane.background.metric_pipeline.topic import metrics_to
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.server_identities import RENEWED_AFTER, ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalView
from events.ids import ClusterUid
from spark.metrics.broker_tls import ReaderTls
from spark.metrics.topic import TOPIC
from spark.pipeline.sources import Sources
from spark.pipeline.status import PipelineStatus
from tests.builders import NOW, a_tls_document, a_view, an_instance
from tests.changed_view import changed_view
from tests.fakes.cluster_authorities import MemoryClusterAuthorities

ORDERS = a_view()
SEALED = replace(ORDERS, document=a_tls_document())
LEDGER = replace(a_view(), uid=ClusterUid("feed"), name="ledger")
BROKERS = ("brokers-a-0", "brokers-b-0", "brokers-c-0")


def nobody_serves(view: ClusterView) -> ClusterView:
    gone = {k: replace(i, phase=Phase.REQUESTED) if i.is_broker else i for k, i in view.instances.items()}
    return replace(view, instances=gone)


def test_each_cluster_is_read_from_its_own_brokers_and_no_other_may_be_in_its_topic() -> None:
    wanted = wanted_sources([LEDGER, ORDERS])
    assert [(s.name, s.topic, s.only) for s in wanted.sources] == [("c0ffee", TOPIC, "c0ffee"), ("feed", TOPIC, "feed")]
    assert wanted.sources[0].bootstrap == tuple(f"address-of-{node}.g1:9092" for node in BROKERS)
    assert wanted.why_none == ""


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(nobody_serves(ORDERS), id="no broker serves"),
        pytest.param(changed_view(ORDERS, deleted=True), id="deleted"),
        pytest.param(changed_view(ORDERS, unreadable="event 7 is of a later release"), id="its history cannot be read"),
        pytest.param(replace(ORDERS, external=ExternalView("kafka-cluster", {})), id="others run a part of it"),
    ],
)
def test_a_cluster_that_cannot_or_must_not_be_read_is_left_out(view: ClusterView) -> None:
    assert [s.name for s in wanted_sources([view, LEDGER]).sources] == ["feed"]
    alone = wanted_sources([view])
    assert (alone.sources, alone.why_none) == ((), "no cluster has brokers that serve yet")


def test_with_a_metrics_cluster_its_topic_alone_is_read_and_all_may_be_in_it() -> None:
    (source,) = wanted_sources([ORDERS, LEDGER], "ledger").sources
    assert (source.name, source.only) == ("shared-feed", "")
    missing = wanted_sources([ORDERS], "ledger")
    assert missing.sources == ()
    assert "there is no cluster 'ledger'" in missing.why_none
    waiting = wanted_sources([ORDERS, nobody_serves(LEDGER)], "ledger")
    assert waiting.sources == ()
    assert "no brokers that serve yet" in waiting.why_none


def test_agents_send_where_it_is_read() -> None:
    own = metrics_to([ORDERS, LEDGER], metrics=True, metrics_cluster="")
    assert own is not None
    topic = own.topic_of(ORDERS)
    assert topic is not None
    assert (topic.bootstrap, topic.partitions, topic.replication) == ("", 1, 3)

    shared = metrics_to([ORDERS, LEDGER], metrics=True, metrics_cluster="ledger")
    assert shared is not None
    topic = shared.topic_of(ORDERS)
    assert topic is not None
    assert topic.bootstrap == ",".join(f"address-of-{node}.g1:9092" for node in BROKERS)
    assert topic.partitions == 4


def test_nothing_is_sent_where_agents_are_not_to_measure_or_nobody_could_have_it() -> None:
    assert metrics_to([ORDERS], metrics=False, metrics_cluster="") is None
    assert metrics_to([ORDERS], metrics=True, metrics_cluster="ledger") is None
    waiting = metrics_to([ORDERS, nobody_serves(LEDGER)], metrics=True, metrics_cluster="ledger")
    assert waiting is not None
    assert waiting.topic_of(ORDERS) is None, "its own cluster's topic is read by nobody"


class Pipeline:
    def __init__(self) -> None:
        self.wanted: list[tuple[Sources, str]] = []

    def want(self, sources: Sources, why_none: str = "") -> None:
        self.wanted.append((sources, why_none))

    def status(self) -> PipelineStatus:
        return PipelineStatus(state="idle", since=NOW, reason="another server leads, and reads")


class Server:
    may_act = True

    def __init__(self, views: Sequence[ClusterView] = (ORDERS,)) -> None:
        self._views = views

    def views(self) -> list[ClusterView]:
        return list(self._views)


def test_a_server_that_leads_no_more_reads_no_more() -> None:
    pipeline, server = Pipeline(), Server()
    reconciler = PipelineReconciler(server, pipeline, server)
    reconciler.poll()
    server.may_act = False
    reconciler.poll()
    assert [(len(sources), why) for sources, why in pipeline.wanted] == [
        (1, ""),
        (0, "another server leads, and reads"),
    ]
    assert reconciler.note() == "idle: another server leads, and reads"


def test_a_broker_more_is_one_more_address() -> None:
    grown = a_view(an_instance("brokers-a-1", 1, service_id=1003))
    assert "address-of-brokers-a-1.g1:9092" in wanted_sources([grown]).sources[0].bootstrap


def test_brokers_that_speak_tls_are_read_with_a_certificate_of_their_cas_and_another_one_after_days() -> None:
    made, pipeline, server = MemoryClusterAuthorities(), Pipeline(), Server((SEALED, LEDGER))
    now = [NOW]
    reconciler = PipelineReconciler(server, pipeline, server, identities=ServerIdentities(made, lambda: now[0]))
    reconciler.poll()
    assert [s.name for s in pipeline.wanted[-1][0]] == ["feed"], "before its first node has a certificate"
    assert "orders is not read" in reconciler.note()
    assert "none was made yet" in reconciler.note()
    made.found(SEALED.uid)
    reconciler.poll()
    sealed, ledger = pipeline.wanted[-1][0]
    assert ledger.tls is None
    assert sealed.tls is not None
    assert sealed.tls.ca_pem == made.found(SEALED.uid).cluster.pem
    assert {address.rpartition(":")[2] for address in sealed.bootstrap} == {"9091"}
    assert "not read" not in reconciler.note()
    reconciler.poll()
    assert pipeline.wanted[-1][0][0].tls == sealed.tls
    now[0] += RENEWED_AFTER
    reconciler.poll()
    assert pipeline.wanted[-1][0][0].tls != sealed.tls


def test_a_key_is_given_to_no_spark_on_other_machines() -> None:
    made, pipeline, server = MemoryClusterAuthorities(), Pipeline(), Server((SEALED,))
    made.found(SEALED.uid)
    reconciler = PipelineReconciler(
        server, pipeline, server, identities=ServerIdentities(made), why_no_tls="its Spark is elsewhere"
    )
    reconciler.poll()
    assert pipeline.wanted == [((), "orders: its Spark is elsewhere")]


def test_agents_are_let_in_by_brokers_of_their_own_cluster_that_speak_tls_and_by_those_of_no_other() -> None:
    own = metrics_to([SEALED, LEDGER], metrics=True, metrics_cluster="")
    assert own is not None
    told = own.topic_of(SEALED)
    assert told is not None
    assert told.secured
    plain = own.topic_of(LEDGER)
    assert plain is not None
    assert not plain.secured

    shared = metrics_to([SEALED, LEDGER], metrics=True, metrics_cluster="orders")
    assert shared is not None
    home = shared.topic_of(SEALED)
    assert home is not None
    assert home.secured
    assert shared.topic_of(LEDGER) is None, "its agents have no certificate of that cluster"
    elsewhere = metrics_to([SEALED, LEDGER], metrics=True, metrics_cluster="ledger")
    assert elsewhere is not None
    away = elsewhere.topic_of(SEALED)
    assert away is not None
    assert not away.secured


def test_the_metrics_cluster_is_read_with_a_certificate_too() -> None:
    shown = ReaderTls("ca", "certificate", "key")
    (source,) = wanted_sources([SEALED, LEDGER], "orders", ReaderTlsOf({SEALED.uid: shown})).sources
    assert (source.name, source.tls) == ("shared-c0ffee", shown)
    without = wanted_sources([SEALED], "orders", ReaderTlsOf(why_not={SEALED.uid: "its CA is gone"}))
    assert without.sources == ()
    assert without.why_none.endswith("cannot be read: its CA is gone")
