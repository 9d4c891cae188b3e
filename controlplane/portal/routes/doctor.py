"""/v1/doctor: whether the clouds are ready for clusters, as this server reaches them."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.examinations import CloudUnknown, Examination
from controlplane.portal import doctorschemas as api
from controlplane.portal.access.roles import Verb
from controlplane.portal.pages.frame import Caller
from controlplane.portal.problems import ApiError
from controlplane.portal.schemas import API_PREFIX
from controlplane.portal.services import Services

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
        found = services.examinations.standing(cloud)
    except CloudUnknown as error:
        raise ApiError(422, "cloud-unknown", str(error)) from error
    return api.DoctorOut(items=[_out(one) for one in found])


def _out(one: Examination) -> api.ExaminationOut:
    return api.ExaminationOut(
        cloud=one.cloud,
        asking=one.asking,
        began_at=one.began_at,
        ended_at=one.ended_at,
        findings=[api.FindingOut(what=f.what, well=f.well, told=f.told, what_next=f.what_next) for f in one.findings],
    )
