"""/v1/clusters/NAME/logs: lines of the logs of its VMs, read from the topic agents send them to."""

import re
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.moments import Moment, as_utc
from controlplane.api.problems import ApiError
from controlplane.api.schemas import logs as log_api, messages as message_api
from controlplane.api.services import Services
from controlplane.background.log_reader.lines import LogQuery
from controlplane.background.log_reader.reading import Cursor
from controlplane.kafka.errors import KafkaFault

router = APIRouter(prefix=message_api.API_PREFIX, tags=["logs"])

SINCE = timedelta(minutes=15)
"""How far back lines are told where nobody says."""

_CURSOR = re.compile(r"\d{1,5}:\d{1,18}(,\d{1,5}:\d{1,18})*", re.ASCII)

Service = Literal["", "broker", "controller", "zookeeper", "replicator", "agent"]
Level = Literal["", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]


@router.get("/clusters/{name}/logs")
def list_log_lines(
    name: str,
    services: Services,
    node: Annotated[str, Query(max_length=250)] = "",
    service: Service = "",
    level: Level = "",
    since: Moment | None = None,
    after: Annotated[str, Query(max_length=4000)] = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> log_api.LogsOut:
    """A page of lines, oldest first: those of `level` and above since then, behind the page whose `next` is `after`.

    422 where this server has agents send none, 503 while Kafka cannot be asked.
    """
    view = living(services, name)
    if not services.brokers.logs:
        then = "Start the server with KEDGE_TELEMETRY__LOGS=true; agents then send them from that time on."
        raise ApiError(422, "logs-off", f"agents of {view.name} send no lines of logs", next_step=then)
    begin = as_utc(since) if since is not None else services.clock() - SINCE
    try:
        page = services.brokers.journals.read(
            view, LogQuery(begin, node=node, service=service, level=level), after=_cursor(after), limit=limit
        )
    except KafkaFault as fault:
        then = f"kedge describe {view.name} says how its brokers are; on the VM the logs are in its directory `logs`."
        raise ApiError(
            503, "kafka-unavailable", f"the logs of {view.name} could not be read: {fault}", next_step=then
        ) from fault
    return log_api.LogsOut(
        cluster=view.name,
        lines=[log_api.LogLineOut(**asdict(line)) for line in page.lines],
        next=",".join(f"{n}:{offset}" for n, offset in sorted(page.cursor.items())),
        is_end=page.is_end,
        problem=page.problem,
    )


def _cursor(text: str) -> Cursor:
    if not text:
        return {}
    if not _CURSOR.fullmatch(text):
        then = "Give what a page told as `next`, or nothing."
        raise ApiError(422, "cursor-unreadable", f"{text!r} is not a place in the logs", next_step=then)
    return {int(n): int(offset) for n, offset in (part.split(":") for part in text.split(","))}
