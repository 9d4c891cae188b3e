"""/v1/clusters/NAME/diff: desired beside observed; one generation as it was declared, and two side by side."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.field_diff import Field, field_diff
from controlplane.api.generation_pair import compared, declaration_of, spec_text
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, Most, Turning, following
from controlplane.api.presenters import specs as spec_answers
from controlplane.api.read_models.running_settings import Reported
from controlplane.api.schemas import messages as message_api, specs as spec_api
from controlplane.api.schemas.diffs import ComparedOut, DeclaredOut, DiffOut, FieldOut, ReportedOut
from controlplane.api.services import Services

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])

Generation = Annotated[int, Query(ge=0, le=2**31, description="0: the last one; of `old` the one before `new`")]


@router.get("/clusters/{name}/diff")
def get_diff(
    name: str,
    services: Services,
    turn: Turning,
    unchanged: Annotated[bool, Query(description="fields that are as they were asked for, too")] = False,
    ask: Annotated[bool, Query(description="ask the brokers what they run with: up to 10 s")] = False,
    after: AfterId = "",
    limit: Most = MOST_ON_A_PAGE,
) -> DiffOut:
    """What was asked for beside what there is, of the cluster and of each node; and what is left to do."""
    view = living(services, name)
    found = field_diff(services, view, ask=ask)
    fields = [_field(f) for f in (found.fields if unchanged else found.differing)]
    snapshot, differ = found.snapshot, len(found.differing)
    return DiffOut(
        cluster=view.name,
        metadata_age_s=max(0.0, (services.clock() - snapshot.at).total_seconds()) if snapshot else None,
        differ=differ,
        same=len(found.fields) - differ,
        fields=turn.page(following(fields, lambda f: f.id, after), lambda f: f.id, limit),
        reported=[_reported(r) for r in found.reported],
        reported_unknown=found.unknown,
        pending=[spec_answers.step_out(step) for step in found.steps],
    )


@router.get("/clusters/{name}/generations/{generation}")
def get_generation(name: str, generation: int, services: Services) -> DeclaredOut:
    """The spec as it was declared then."""
    view = living(services, name)
    event = declaration_of(services, view, generation)
    return DeclaredOut(
        cluster=view.name,
        generation=generation,
        declared_at=event.recorded_at,
        declared_by=event.actor,
        source=str(event.data.get("source") or ""),
        in_force=generation == view.generation,
        position=event.position,
        document=dict(event.data["document"]),
        text=spec_text(event),
    )


@router.get("/clusters/{name}/compare")
def compare(
    name: str,
    services: Services,
    turn: Turning,
    old: Generation = 0,
    new: Generation = 0,
    after: AfterId = "",
    limit: Most = MOST_ON_A_PAGE,
) -> ComparedOut:
    """What one generation changes of another, field by field, with the class of each change."""
    view = living(services, name)
    pair = compared(services, view, old, new)
    changes = [
        spec_api.FieldChangeOut(path=c.path, old=c.old, new=c.new, field_class=c.field_class.value)
        for c in pair.changes
    ]
    page = turn.page(following(changes, lambda c: c.path, after), lambda c: c.path, limit)
    return ComparedOut(cluster=view.name, old=pair.old, new=pair.new, changes=page, total=len(changes))


def _field(found: Field) -> FieldOut:
    return FieldOut.like(found, id=f"{found.subject}/{found.name}", same=found.is_same)


def _reported(row: Reported) -> ReportedOut:
    return ReportedOut.like(row, told=_lists(row.applied), runs=_lists(row.runs))


def _lists(brokers: Mapping[str, tuple[int, ...]]) -> dict[str, list[int]]:
    return {value: list(found) for value, found in brokers.items()}
