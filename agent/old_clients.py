"""Requests a broker still answers and the next major version of Kafka does not speak any more, by client.

Kafka counts them itself since 3.7 (KIP-896), `DeprecatedRequestsPerSec` of its request metrics: those whose version its
message definitions call deprecated. Seen in `kafka.network.RequestMetrics` of 3.8.1 and 3.9.1, and in
`org.apache.kafka.network.metrics.RequestMetrics` of 4.1.1 and 4.2.0, where no version is deprecated.
"""

from typing import Any

from agent.metrics import Jolokia, JolokiaSilent, number, value_of
from agent.metrics_reading import properties_of
from agent.wire import OldClientReport

PATTERN = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,*"
MOST = 20
"""Each version of each library has a count of its own; the busiest say enough."""


def old_clients(jolokia: Jolokia) -> tuple[OldClientReport, ...]:
    """Since the broker's start, the busiest first. None, too, where the metrics port is silent: that is no proof."""
    try:
        (item,) = jolokia.ask([{"type": "read", "mbean": PATTERN, "attribute": "Count"}])
    except JolokiaSilent:
        return ()
    # Of a pattern that nothing matches Jolokia says 404.
    beans = value_of(item)
    found = (
        [report for bean, values in beans.items() if (report := _report_of(bean, values))]
        if isinstance(beans, dict)
        else []
    )
    found.sort(key=lambda c: (-c.requests, c.request, c.version, c.software, c.software_version))
    return tuple(found[:MOST])


def _report_of(bean: str, values: Any) -> OldClientReport | None:
    count = number(values.get("Count")) if isinstance(values, dict) else None
    properties = properties_of(bean)
    version = properties.get("version", "")
    if not count or not version.isdecimal():
        return None
    return OldClientReport(
        request=properties.get("request", ""),
        version=int(version),
        software=properties.get("clientSoftwareName", ""),
        software_version=properties.get("clientSoftwareVersion", ""),
        requests=int(count),
    )
