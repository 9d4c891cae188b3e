"""The settings of one topic: declared beside what Kafka says is set on it, key by key."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.kafka.errors import KafkaFault
from controlplane.portal.pages.cluster import head_of
from controlplane.portal.pages.frame import Caller, page
from controlplane.portal.problems import ApiError
from controlplane.portal.routes.clusters import living
from controlplane.portal.services import Services
from controlplane.portal.topicanswers import topic_out

router = APIRouter(prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One key. None: not declared, or not set on the topic: the brokers' default counts there."""

    key: str
    declared: str | None
    found: str | None

    @property
    def is_same(self) -> bool:
        return self.declared == self.found


@router.get("/settings")
def topic_settings(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """A page of its own: its brokers are asked for it, which may take some seconds."""
    view = living(services, name)
    kept = topic_out(view, topic, None)
    found: Mapping[str, str] | None = None
    why = ""
    try:
        found = services.topic_settings.look(view, topic)
    except KafkaFault as fault:
        why = str(fault)
    if found is None and not why and kept.declared is None:
        then = f"The topics of {name} are listed on its page."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    declared = kept.declared.config if kept.declared else None
    return page(
        request,
        "topicsettings.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        topic=topic,
        kept=kept,
        rows=setting_rows(declared or {}, found),
        is_kept=declared is not None,
        is_there=found is not None,
        why=why,
    )


def setting_rows(declared: Mapping[str, str], found: Mapping[str, str] | None) -> list[SettingRow]:
    """Every key either of them has, by name."""
    there = found or {}
    return [SettingRow(key, declared.get(key), there.get(key)) for key in sorted({*declared, *there})]
