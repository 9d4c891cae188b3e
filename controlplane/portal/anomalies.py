"""The anomalies of a cluster: what was found, why it stands as it does, and what became of it."""

import uuid
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.anomaly_series import measured
from controlplane.api.auth import Actor
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.presenters.anomalies import IN_WORDS, OPEN, TONES, anomaly_out, chosen_anomalies, healing_out
from controlplane.api.request_identity import asked_id
from controlplane.api.routes.anomalies import anomaly_of, fold_of
from controlplane.api.schemas.anomalies import AnomalyOut
from controlplane.api.services import Services
from controlplane.cluster.commands import SwitchHealing
from controlplane.portal import charts, cluster, csv_rows, frame
from planner.anomalies.kinds import WORDS, Kind, State

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[frame.CsrfChecked])

MOST_ROWS = 500

Text = Annotated[str, Query(max_length=250)]


class HealingForm(BaseModel):
    """Which kind, "" for all, is switched how, and for how many hours, "" for good. `key` makes a retry safe."""

    kind: str = Field(default="", max_length=40)
    to: Literal["on", "off"]
    hours: str = Field(default="", pattern="^([1-9][0-9]{0,3})?$")
    reason: str = Field(default="", max_length=200)
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")


@router.get("/anomalies")
def anomalies(
    request: Request, name: str, services: Services, rights: Caller, q: Text = "", kind: Text = "", state: Text = ""
) -> Response:
    """The table, open ones first; what is unknown in a filter lets everything through."""
    view = living(services, name)
    fold = fold_of(services, view)
    kinds, states = [k.value for k in Kind], [OPEN, *(s.value for s in State)]
    kind, state = kind if kind in kinds else "", state if state in states else ""
    found = chosen_anomalies(fold, text=q, kind=kind, state=state)
    return frame.page(
        request,
        "anomalies.html",
        key=uuid.uuid4().hex,
        head=cluster.head_of(request, services, rights, view),
        tab="anomalies",
        rows=found[:MOST_ROWS],
        found=len(found),
        open=len(fold.open_),
        ever=fold.found,
        healing=healing_out(view, services.clock()),
        tones=TONES,
        in_words=IN_WORDS,
        words=WORDS,
        kinds=kinds,
        states=states,
        q=q,
        kind=kind,
        state=state,
    )


@router.get("/anomalies/{anomaly}")
def anomaly_page(request: Request, name: str, anomaly: str, services: Services, rights: Caller) -> Response:
    """One of them, with what was measured about it."""
    view = living(services, name)
    found = anomaly_of(services, view, anomaly)
    out = measured(services, view, found)
    return frame.page(
        request,
        "anomaly.html",
        head=cluster.head_of(request, services, rights, view),
        tab="anomalies",
        anomaly=anomaly_out(view.name, found),
        charts=[charts.series_chart(s, found.found_at) for s in out.series],
        why=out.why,
        tones=TONES,
        in_words=IN_WORDS,
        words=WORDS,
    )


@router.get("/anomalies.csv")
def anomalies_csv(name: str, services: Services, q: Text = "", kind: Text = "", state: Text = "") -> Response:
    """All rows that match as comma-separated values."""
    view = living(services, name)
    found = chosen_anomalies(fold_of(services, view), text=q, kind=kind, state=state)
    rows = [anomaly_out(view.name, a) for a in found]
    return csv_rows.csv_answer(f"{view.name}-anomalies.csv", list(AnomalyOut.model_fields), rows)


@router.post("/healing")
def switch_healing(
    request: Request, name: str, services: Services, rights: Caller, actor: Actor, form: Annotated[HealingForm, Form()]
) -> Response:
    """Have anomalies of a kind healed, or not."""
    until = services.clock() + timedelta(hours=int(form.hours)) if form.hours else None
    command = SwitchHealing(
        name=name,
        actor=actor,
        command_id=asked_id(rights, form.key),
        reason=form.reason,
        kind=form.kind,
        on=form.to == "on",
        until=until,
    )
    carry_out(services, command)
    return frame.onwards(request, f"/clusters/{name}/anomalies")
