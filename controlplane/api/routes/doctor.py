"""/v1/doctor: whether the clouds are ready for clusters, as this server reaches them."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.cloud_readiness import CloudUnknown, Examination
from controlplane.api.presenters.metric_pipeline import pipeline_findings
from controlplane.api.problems import ApiError
from controlplane.api.schemas import doctor as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.server_load import load_findings
from controlplane.api.services import PortalServices, Services
from events.errors import StoreUnavailable
from providers.finding import Finding

router = APIRouter(prefix=API_PREFIX, tags=["system"])

Cloud = Annotated[str, Query(max_length=40, description="only this cloud; empty: those in use, or with settings here")]


@router.get("/doctor")
def examine(services: Services, rights: Caller, cloud: Cloud = "") -> api.DoctorOut:
    """Account, regions, images, quota: a finding for each check of `kedge doctor`, with this server's credentials.

    The answer comes at once. A cloud that was not asked within five minutes is asked now, beside this call: `asking`
    says so, and a later call has the findings. For administrators: it tells of accounts and of every cluster's VMs.
    """
    rights.require_everywhere(Verb.ADMINISTER, "the clouds")
    try:
        found = services.operations.examinations.results(cloud)
    except CloudUnknown as error:
        raise ApiError(422, "cloud-unknown", str(error)) from error
    return api.DoctorOut(
        items=[_out(one) for one in found],
        database=[_finding(one) for one in _of_database(services)],
        server=[
            _finding(one)
            for one in (
                *load_findings(services.operations.load.figures(services.operations.database_trouble())),
                *pipeline_findings(services.operations.pipeline(), now=services.clock()),
                *services.operations.files(),
            )
        ],
    )


def _of_database(services: PortalServices) -> Sequence[Finding]:
    """One that does not answer is a finding as well, and the best reason to ask."""
    try:
        return services.operations.database()
    except StoreUnavailable as away:
        then = "Look at the database. The server goes on by itself once it answers."
        return [Finding("database", False, str(away), then)]


def _out(one: Examination) -> api.ExaminationOut:
    return api.ExaminationOut.like(one, findings=[_finding(one) for one in one.findings])


def _finding(found: Finding) -> api.FindingOut:
    return api.FindingOut(what=found.what, well=found.well, told=found.told, what_next=found.what_next)
