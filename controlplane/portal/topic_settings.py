"""What is declared for a topic's settings beside what counts in Kafka, and what would count without it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.queries import ORIGIN_WORDS
from controlplane.api.presenters.topics import topic_out
from controlplane.api.problems import ApiError
from controlplane.api.services import Services
from controlplane.kafka.errors import KafkaFault
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page
from events.spec.setting_values import reads_alike
from events.spec.topic_table import every_topic_key
from planner.broker_answers import ValueOrigin, ValueSeen

router = APIRouter(prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One key: what is declared, None for nothing, and what counts, None while Kafka has no such key."""

    key: str
    declared: str | None
    seen: ValueSeen | None

    @property
    def is_own(self) -> bool:
        """Whether it is set on the topic itself."""
        return self.seen is not None and self.seen.origin is ValueOrigin.TOPIC

    @property
    def is_same(self) -> bool:
        """What is set on the topic is what is declared for it, or neither says anything."""
        if self.declared is None or self.seen is None or not self.is_own or self.seen.value is None:
            return self.declared is None and not self.is_own
        return reads_alike(every_topic_key().get(self.key), self.declared, self.seen.value)


@router.get("/settings")
def topic_settings(
    request: Request, name: str, topic: str, services: Services, rights: Caller, every: bool = False
) -> Response:
    """A page of its own: its brokers are asked for it, which may take some seconds. `every`: with those nobody set."""
    view = living(services, name)
    kept = topic_out(view, topic, None)
    found: Mapping[str, ValueSeen] | None = None
    why = ""
    try:
        found = services.brokers.kafka_queries.topic_values(view, topic)
    except KafkaFault as fault:
        why = str(fault)
    if found is None and not why and kept.declared is None:
        then = f"The topics of {name} are listed on its page."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    declared = kept.declared.config if kept.declared else None
    rows = setting_rows(declared or {}, found)
    return page(
        request,
        "topicsettings.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        topic=topic,
        kept=kept,
        rows=[r for r in rows if every or r.is_own or r.declared is not None],
        total=len(rows),
        every=every,
        is_kept=declared is not None,
        is_there=found is not None,
        origins=ORIGIN_WORDS,
        why=why,
    )


def setting_rows(declared: Mapping[str, str], found: Mapping[str, ValueSeen] | None) -> list[SettingRow]:
    """Every key either of them has, by name."""
    there = found or {}
    return [SettingRow(key, declared.get(key), there.get(key)) for key in sorted({*declared, *there})]
