"""What agents are told to send, as the server that leads says it: processes that answer agents have no Spark, and may
stand on a machine where the settings come to something else. Documents that differ by who answers would have agents
change what they send at each of their questions.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as
from events.ids import ClusterUid

_KIND, _NAME = "agent-telemetry", "told"
_SUBJECT = Subject(_KIND, ClusterUid(""), _NAME)


@dataclass(frozen=True, slots=True)
class AgentTelemetry:
    """`metrics`: brokers send some, to the topic of the cluster named `metrics_cluster`, or each to its own; `logs`:
    VMs send lines of their logs."""

    metrics: bool = False
    metrics_cluster: str = ""
    logs: bool = False


_TOLD = TypeAdapter(AgentTelemetry)


def keep_telemetry(latest: LatestStore, telemetry: AgentTelemetry, now: datetime) -> None:
    """Tells it. Raises StoreUnavailable."""
    latest.put(LatestValue(_SUBJECT, _TOLD.dump_python(telemetry, mode="json"), "server", now))


def leaders_telemetry(latest: LatestStore) -> AgentTelemetry | None:
    """What the last server that led told; None where none did. Raises StoreUnavailable."""
    row = latest.get(_SUBJECT)
    return read_as(_TOLD, row) if row is not None else None
