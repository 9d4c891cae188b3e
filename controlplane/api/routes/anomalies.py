"""/v1/clusters/NAME/anomalies, /v1/anomalies and /v1/notifiers: what was found, what is healed, who is told."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from controlplane.api.access.caller import Caller
from controlplane.api.anomaly_pages import behind, cursor_of
from controlplane.api.anomaly_series import measured
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.paging import MOST_ON_A_PAGE, After, Most, Turning, by_name
from controlplane.api.presenters import clusters as answers
from controlplane.api.presenters.anomalies import OPEN, anomalies_out, anomaly_out, chosen_anomalies, notifier_out
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading, Keyed, came_before
from controlplane.api.schemas import (
    anomalies as anomaly_api,
    commands as command_api,
    messages as message_api,
)
from controlplane.api.services import PortalServices, Services
from controlplane.background.anomalies.fold import AnomalyFold, read_anomalies
from controlplane.background.anomalies.record import ANOMALIES_NOTED, noted_of
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.service import NotifierNotFound
from controlplane.cluster.commands import SwitchHealing
from controlplane.cluster.view import ClusterView
from planner.anomalies.judge import Anomaly

router = APIRouter(prefix=message_api.API_PREFIX, tags=["anomalies"])

Text = Annotated[str, Query(max_length=250)]
AfterAnomaly = Annotated[
    str, Query(max_length=500, pattern="^(.+/.+)?$", description="the last of the page before, as CLUSTER/ID")
]
AfterOne = Annotated[
    str, Query(max_length=260, description="the id of the last of the page before; `open/ID` where it was open there")
]


@router.get("/anomalies")
def open_anomalies(
    services: Services, turn: Turning, after: AfterAnomaly = "", limit: Most = MOST_ON_A_PAGE
) -> list[anomaly_api.AnomalyOut]:
    """All open ones of all clusters, by cluster, newest first. `after` may be over by then."""
    noted = noted_of(services.cluster.latest.of_kind(ANOMALIES_NOTED))
    cluster, _, last = after.partition("/")
    views = sorted(
        (v for v in services.fleet.clusters.views() if not v.deleted and v.name >= cluster), key=lambda v: v.name
    )
    shown: list[anomaly_api.AnomalyOut] = []
    for view in views:
        if len(shown) > limit:
            break
        if view.uid in noted and noted[view.uid].open_:
            fold = fold_of(services, view)
            left = behind(fold, f"{OPEN}/{last}" if view.name == cluster else "")
            shown += [anomaly_out(view.name, anomaly) for anomaly in left if not anomaly.is_over]
    return turn.page(shown, lambda anomaly: f"{anomaly.cluster}/{anomaly.id}", limit)


@router.get("/clusters/{name}/anomalies")
def list_anomalies(
    name: str,
    services: Services,
    turn: Turning,
    q: Text = "",
    kind: Text = "",
    state: Text = "",
    after: AfterOne = "",
    limit: Most = 100,
) -> anomaly_api.AnomaliesOut:
    """Those of a cluster, open ones first; `state` may be `open`, too."""
    view = living(services, name)
    fold = fold_of(services, view)
    chosen = chosen_anomalies(fold, text=q, kind=kind, state=state)
    left = {anomaly.id for anomaly in behind(fold, after)}
    page = turn.page([one for one in chosen if one.id in left], cursor_of, limit)
    out = anomalies_out(view, fold, chosen, limit=0, now=services.clock())
    return out.model_copy(update={"anomalies": [anomaly_out(view.name, one) for one in page]})


@router.post("/clusters/{name}/healing")
def switch_healing(body: anomaly_api.HealingIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Have anomalies of a kind healed, or not."""
    command = SwitchHealing(
        **head,
        reason=body.reason,
        kind=body.kind,
        on=body.on,
        until=answers.in_utc(body.until),
    )
    return carry_out(services, command)


@router.get("/notifiers")
def list_notifiers(
    services: Services, turn: Turning, after: After = "", limit: Most = MOST_ON_A_PAGE
) -> list[anomaly_api.NotifierOut]:
    """Where anomalies are told to by name, and how each does."""
    left = by_name(services.fleet.notifiers.all(), lambda notifier: notifier.binding.name, after=after)
    return [notifier_out(notifier) for notifier in turn.page(left, lambda notifier: notifier.binding.name, limit)]


@router.post("/notifiers/{name}/test", dependencies=[Keyed])
def test_notifier(
    name: str, body: command_api.ReasonIn, services: Services, rights: Caller, request: Request
) -> anomaly_api.NotifierTestedOut:
    """Tells it now that this is a test, past what waits. A request that comes twice tells it once."""
    if came_before(request) and any(told.binding.name == name for told in services.fleet.notifiers.all()):
        sentence = f"{name} was told by this very request before"
        return anomaly_api.NotifierTestedOut(name=name, told=True, sentence=sentence)
    try:
        services.fleet.notifiers.test(name)
    except NotifierNotFound as error:
        then = "kedge notifiers list has those of the settings."
        raise ApiError(404, "notifier-not-found", f"there is no notifier {name!r}", next_step=then) from error
    except NotDelivered as error:
        rights.trail.refused = f"{name} was not told"
        return anomaly_api.NotifierTestedOut(name=name, told=False, sentence=str(error))
    return anomaly_api.NotifierTestedOut(name=name, told=True, sentence=f"{name} took the test notice")


@router.get("/clusters/{name}/anomalies/{anomaly}")
def get_anomaly(name: str, anomaly: str, services: Services) -> anomaly_api.AnomalyDetailOut:
    """One of them, open or over, with what was measured about it from 6 hours before it was found to 2 hours after."""
    view = living(services, name)
    found = anomaly_of(services, view, anomaly)
    out = measured(services, view, found)
    series = [
        anomaly_api.SeriesOut.like(
            s, lines=[anomaly_api.LineOut(name=n, values=list(values)) for n, values in s.lines.items()]
        )
        for s in out.series
    ]
    return anomaly_api.AnomalyDetailOut(anomaly=anomaly_out(view.name, found), series=series, why_none=out.why)


def anomaly_of(services: PortalServices, view: ClusterView, anomaly: str) -> Anomaly:
    """One by its id. 404 where there is none, or it is over and too old to be kept in mind."""
    found = next((a for a in fold_of(services, view).every() if a.id == anomaly), None)
    if found is None:
        then = f"kedge anomalies {view.name} --all lists them."
        raise ApiError(404, "anomaly-not-found", f"{view.name} has no anomaly {anomaly!r}", next_step=then)
    return found


def fold_of(services: PortalServices, view: ClusterView) -> AnomalyFold:
    """The anomalies of a cluster as they are recorded. 500 with the place where another release wrote what cannot be
    read."""
    fold = read_anomalies(services.store, view.uid)
    if fold.unreadable:
        raise ApiError(500, "anomalies-unreadable", f"the anomalies of {view.name} cannot be read: {fold.unreadable}")
    return fold
