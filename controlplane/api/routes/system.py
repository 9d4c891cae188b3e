"""What concerns the installation and no single cluster."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.api_document import api_document
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Keyed
from controlplane.api.schemas import messages as message_api, system as system_api
from controlplane.api.services import Services
from controlplane.storage.backup import BackupCorrupt

router = APIRouter(tags=["system"])


@router.post(
    f"{message_api.API_PREFIX}/backup",
    responses={500: {"description": "the backup failed its own check"}},
    dependencies=[Keyed],
)
def backup(body: system_api.BackupIn, services: Services, rights: Caller) -> system_api.BackupOut:
    """Writes a backup to a new file on the server's machine, while it goes on working."""
    # Before the path is looked at: which files are there is nobody's to ask for.
    rights.require_everywhere(Verb.ADMINISTER, "the installation")
    path = Path(body.path)
    if not path.is_absolute():
        raise ApiError(422, "path-not-absolute", "the path must be absolute: the server has a directory of its own")
    if _is_there(path):
        raise ApiError(409, "file-exists", f"{path} exists and is not overwritten", next_step="Name another file.")
    try:
        summary = services.operations.backup(path)
    except OSError as error:
        raise ApiError(422, "not-writable", f"{path} cannot be written", detail=error.strerror or "") from error
    except BackupCorrupt as error:
        raise ApiError(500, "backup-corrupt", "the backup failed its own check", detail=str(error)) from error
    return system_api.BackupOut(path=str(path), events=summary.head, sha256=summary.sha256)


def _is_there(path: Path) -> bool:
    """Of a folder this process may not look into it is unknown: the write says so."""
    try:
        return path.exists()
    except PermissionError:
        return False


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """The API in its own words, behind the token like everything else."""
    return api_document(request.app)
