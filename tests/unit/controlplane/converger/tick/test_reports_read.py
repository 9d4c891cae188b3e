"""What agents reported is read from the database once for each look at a cluster, whoever of the look needs it."""

from dataclasses import replace

from controlplane.cluster.observed.agent_reports import AGENT_REPORT, keep_report
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.tick.observe import Observer
from controlplane.storage.latest_values import LatestValue
from events import facts
from events.ids import ClusterUid
from tests.builders import a_report
from tests.fakes.latest_values import MemoryLatestStore
from tests.unit.controlplane.api.portal_house import _ports
from tests.unit.controlplane.converger.tick.test_disks_at_rest import AtRest, NoCloud


class CountingStore(MemoryLatestStore):
    """Counts how often the reports of a whole cluster are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def of_cluster(self, cluster_uid: ClusterUid, kind: str | None = None) -> list[LatestValue]:
        self.read += kind == AGENT_REPORT
        return super().of_cluster(cluster_uid, kind)


def test_a_look_at_a_cluster_with_work_reads_them_once_and_the_next_look_reads_them_anew() -> None:
    """Findings and sizes of disks were read apart: twice a tick."""
    rest, store = AtRest(), CountingStore()
    keys = tuple(sorted(i.key for i in rest.view.brokers()))
    view = rest.house.record(facts.RollingRestartRequested("r-1", keys, "person:test"))
    for broker in view.brokers():
        keep_report(store, view.uid, broker.key, a_report(broker).report, rest.house.now)
    observer = Observer(replace(_ports(rest.house), kafka=lambda _: rest.kafka, inventory=NoCloud(), latest=store))
    assert has_work(view)
    seen = observer.observe(view)
    assert (set(seen.reports), store.read) == (set(keys), 1)
    assert seen.kafka is not None
    assert observer.observe(view).reports
    assert store.read == 2


def test_a_cluster_at_rest_that_is_looked_at_reads_them_once_for_its_disks_and_tells_none() -> None:
    rest, store = AtRest(), CountingStore()
    observer = Observer(replace(_ports(rest.house), kafka=lambda _: rest.kafka, inventory=NoCloud(), latest=store))
    assert (observer.observe(rest.view).reports, store.read) == ({}, 1)
    assert (observer.observe(rest.view).reports, store.read) == ({}, 1), "nobody is asked between two looks"
