"""What is told of pairs of clusters. Pure."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import PairSnapshot


def pair_families(pairs: Iterable[PairSnapshot]) -> Iterator[Metric]:
    """What is not known of a copy is absent: 0 is a copy that has every record."""
    one = ["pair"]
    state = GaugeMetricFamily(
        "kedge_pair_state", "1 for how far a pair is.", labels=[*one, "primary", "standby", "state"]
    )
    running = GaugeMetricFamily("kedge_pair_replicator_running", "1 while its agent says that it copies.", labels=one)
    seconds = GaugeMetricFamily(
        "kedge_pair_copy_lag_seconds", "Age of the oldest record that the standby may not have.", labels=one
    )
    records = GaugeMetricFamily("kedge_pair_copy_lag_records", "That the standby has not, at most.", labels=one)
    gaps = GaugeMetricFamily("kedge_pair_copy_gap_records", "Deleted before they were copied, at most.", labels=one)
    for pair in pairs:
        state.add_metric([pair.name, pair.primary, pair.standby, pair.state], 1.0)
        if not pair.is_warm:
            continue
        running.add_metric([pair.name], float(pair.is_running))
        if pair.copy is None or pair.copy.lag_s is None:
            continue
        seconds.add_metric([pair.name], pair.copy.lag_s)
        records.add_metric([pair.name], float(sum(pair.copy.lag_records.values())))
        gaps.add_metric([pair.name], float(sum(pair.copy.gaps.values())))
    yield from (state, running, seconds, records, gaps)
