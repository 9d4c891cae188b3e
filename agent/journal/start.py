"""Starts the shipping of a VM's logs with the real parts; the only place that puts them together."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from agent import durable, metrics_topic, sending, wire
from agent.journal.places import FilePlace
from agent.journal.shipping import JournalShipping, LogOrigin, Places
from agent.journal.source import LogSource
from agent.layout import REPLICATOR, AgentLayout

_log = logging.getLogger(__name__)

_ONE = threading.Lock()
"""The thread before may still be leaving: two would tell everything twice."""

_PLACES: TypeAdapter[dict[str, FilePlace]] = TypeAdapter(dict[str, FilePlace])


def start_journal(
    origin: LogOrigin,
    topic: wire.LogsTopic,
    /,
    *,
    leaving: threading.Event,
    layout: AgentLayout,
    secrets: Iterable[str] = (),
    client: Mapping[str, str] = MappingProxyType({}),
) -> threading.Thread:
    """A daemon thread: neither the agent's passes nor its end wait for it. If it dies its traceback is in agent.out.

    `client`: librdkafka's properties of TLS.
    """

    def run() -> None:
        with _ONE:
            if metrics_topic.topic_is_there(topic.bootstrap, topic, "lines of logs", pause=leaving.wait, client=client):
                kept = layout.spools / "logs.json"
                kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                carrier = sending.KafkaCarrier(topic.bootstrap, topic.name, client=client)
                shipping = JournalShipping(
                    origin,
                    sources_of(layout, lines_per_min=topic.lines_per_min),
                    carrier,
                    time.monotonic,
                    places=places_in(kept),
                    keep=lambda places: keep_places(kept, places),
                    secrets=secrets,
                )
                sending.ship(shipping, carrier, leaving=leaving)
                shipping.leave()

    thread = threading.Thread(target=run, name="journal", daemon=True)
    thread.start()
    return thread


def sources_of(layout: AgentLayout, *, lines_per_min: int) -> tuple[LogSource, ...]:
    """Every log there may be on a VM: of each service, of what copies between clusters and of the agent, the structured
    one and what was printed."""
    services = [(name, layout.service_log(name)) for name in (*get_args(wire.ServiceName), REPLICATOR)]
    logs = [*services, ("agent", layout.logs / "agent.log")]
    printed = [(name, layout.logs / f"{name}.out") for name, _ in logs]
    return tuple(LogSource(name, path, lines_per_min=lines_per_min) for name, path in sorted([*logs, *printed]))


def places_in(path: Path) -> Places:
    """Where an earlier agent was. None, or none that can be read: logs are begun near their ends."""
    try:
        return _PLACES.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        _log.warning("where the logs were sent to is not known, lines may be told again: %s", error)
        return {}


def keep_places(path: Path, places: Places) -> None:
    """A disk that refuses it costs repeats after a restart, nothing else."""
    try:
        durable.write_durably(path, _PLACES.dump_json(dict(places)), mode=0o600)
    except OSError as error:
        _log.warning("where the logs were sent to cannot be kept: %s", error)
