"""Reports of agents as they are kept: what another release wrote is not heard, and nobody else's is lost over it."""

from controlplane.cluster.observed.agent_reports import AGENT_REPORT, keep_report, last_report, reports_of
from controlplane.storage.latest_values import LatestValue, Subject
from events.ids import ClusterUid
from tests.builders import NOW, a_report, an_instance
from tests.fakes.latest_values import MemoryLatestStore

UID = ClusterUid("u")


def test_a_report_that_nobody_can_read_is_as_none_and_the_others_are_read() -> None:
    latest, whole = MemoryLatestStore(), an_instance("brokers-b-0")
    keep_report(latest, UID, whole.key, a_report(whole).report, NOW)
    of_another_release = LatestValue(
        Subject(AGENT_REPORT, UID, "brokers-a-0.g1"), {"written": "by another release"}, source="agent", observed_at=NOW
    )
    latest.put(of_another_release)
    assert list(reports_of(latest, UID)) == [whole.key]
    assert last_report(latest, UID, "brokers-a-0.g1") is None
    assert last_report(latest, UID, whole.key) is not None
