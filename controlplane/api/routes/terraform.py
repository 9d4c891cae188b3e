"""/terraform/v1/states: what Terraform's `http` backend asks of a server, for the runs of this very server.

GET reads the state (404: none yet), LOCK and UNLOCK carry Terraform's lock info as JSON, POST writes with the lock's
ID in the query. A lock of somebody else is answered with 423 and their lock info; any status but 2xx fails the
command. See "Backend Type: http" in Terraform's documentation; statuses as Terraform 1.11 takes them.
"""

import base64
import hashlib
import hmac
import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from controlplane.api.problems import ApiError
from controlplane.api.services import Services
from controlplane.storage.terraform_states.lock_rows import StateNotHeld, TerraformLocked
from controlplane.storage.terraform_states.run_credentials import RunPass
from controlplane.storage.terraform_states.storage import PATHS, ServedStates
from providers.errors import StateUnreadable
from providers.tf.state_body import StateRefused
from providers.tf.states import StateKey

router = APIRouter(prefix=PATHS, tags=["terraform"], include_in_schema=False)

STATE = "/{cluster_uid}/{place}"


def states_of(services: Services) -> ServedStates:
    """The states this server serves. Where they are files nobody has credentials: 401."""
    if services.operations.states is None:
        raise _unknown_run()
    return services.operations.states


States = Annotated[ServedStates, Depends(states_of)]


def run_pass(states: States, cluster_uid: str, place: str, authorization: Annotated[str, Header()] = "") -> RunPass:
    """The pass of the run that asks. 401 unless it is one of ours, under way now, and for this very state."""
    shown = states.passes.check(*_basic(authorization))
    if shown is None or shown.key != StateKey(cluster_uid, place):
        raise _unknown_run()
    return shown


Pass = Annotated[RunPass, Depends(run_pass)]


@router.get(STATE)
def read_state(shown: Pass, states: States) -> Response:
    """The newest version."""
    try:
        body = states.versions.read(shown.key)
    except StateUnreadable as damaged:
        raise ApiError(500, "state-damaged", "the state is damaged", detail=str(damaged)) from damaged
    if body is None:
        return Response(status_code=404)
    return Response(body, media_type="application/json", headers={"Content-MD5": _md5(body)})


@router.post(STATE)
async def write_state(
    request: Request, shown: Pass, states: States, content_md5: Annotated[str, Header()] = ""
) -> Response:
    """The next version, under the lock whose ID the query names (`?ID=`)."""
    body = await request.body()
    if content_md5 and not hmac.compare_digest(content_md5.encode(), _md5(body).encode()):
        raise ApiError(400, "damaged", "what arrived is not what was sent: its MD5 is another one")
    lock_id = request.query_params.get("ID", "")
    try:
        await run_in_threadpool(states.versions.put, shown.key, body, hold_id=shown.hold_id, lock_id=lock_id)
    except TerraformLocked as locked:
        return _locked(locked)
    except StateNotHeld as lost:
        raise _not_held(lost) from lost
    except StateRefused as refused:
        raise ApiError(409, "state-refused", "the state is refused", detail=str(refused)) from refused
    return Response(status_code=200)


@router.api_route(STATE, methods=["LOCK"])
async def lock_state(request: Request, shown: Pass, states: States) -> Response:
    """Terraform's own lock, within the run's."""
    info = await _lock_info(request)
    try:
        await run_in_threadpool(states.locks.lock, shown.key, shown.hold_id, info)
    except TerraformLocked as locked:
        return _locked(locked)
    except StateNotHeld as lost:
        raise _not_held(lost) from lost
    return Response(status_code=200)


@router.api_route(STATE, methods=["UNLOCK"])
async def unlock_state(request: Request, shown: Pass, states: States) -> Response:
    """Gives it back; the lock of another ID stays."""
    info = await _lock_info(request)
    try:
        await run_in_threadpool(states.locks.unlock, shown.key, shown.hold_id, str(info["ID"]))
    except TerraformLocked as locked:
        return _locked(locked, status=409)
    except StateNotHeld as lost:
        raise _not_held(lost) from lost
    return Response(status_code=200)


async def _lock_info(request: Request) -> dict[str, Any]:
    try:
        info = json.loads(await request.body())
    except ValueError:
        info = None
    if not isinstance(info, dict) or not isinstance(info.get("ID"), str) or not info["ID"]:
        raise ApiError(400, "request-invalid", "the body is not a lock info of Terraform: it has no ID")
    return info


def _unknown_run() -> ApiError:
    refused = ApiError(401, "run-unknown", "no run of this server has these credentials")
    refused.headers = {"WWW-Authenticate": 'Basic realm="kedge"'}
    return refused


def _locked(locked: TerraformLocked, *, status: int = 423) -> Response:
    """Terraform reads the body as the lock info of whoever has it."""
    return JSONResponse(locked.lock, status_code=status)


def _not_held(lost: StateNotHeld) -> ApiError:
    # 403 and no 409: Terraform would look for somebody's lock info in the answer.
    return ApiError(403, "state-not-held", "the state is not this run's any more", detail=str(lost))


def _basic(authorization: str) -> tuple[str, str]:
    """User and password of HTTP basic authentication (RFC 7617), empty for anything else."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
    except ValueError:  # no base64, no ASCII, no UTF-8
        decoded = ""
    user, _, password = decoded.partition(":")
    return user, password


def _md5(body: bytes) -> str:
    """As `Content-MD5` has it (RFC 1864): a check against damage on the way, no proof of anything."""
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
