"""Scripts, style and icon out of the package. Their addresses carry their hash, so a browser may keep them for ever."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from controlplane.api.auth import STATIC_PATHS
from controlplane.api.problems import ApiError

FOLDER = Path(__file__).resolve().parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_KEPT = "public, max-age=31536000, immutable"
_WORKERS = {"stream.js": {"Content-Security-Policy": "default-src 'none'; connect-src 'self'"}}
"""A worker lives by the policy it was served with, not by that of a page: it may listen to us and nothing else."""

router = APIRouter(tags=["pages"], include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is served."""

    body: bytes
    kind: str
    stamp: str


def asset_address(name: str) -> str:
    """Where a file is served. Raises KeyError for one that is not there: a template is wrong."""
    return f"{STATIC_PATHS}{ASSETS[name].stamp}/{name}"


@router.get(STATIC_PATHS + "{stamp}/{name:path}")
async def asset(stamp: str, name: str) -> Response:
    """A file by its name, if it is still that version."""
    found = ASSETS.get(name)
    if found is None or found.stamp != stamp:
        raise ApiError(404, "not-found", "there is no such file", next_step="Reload the page.")
    headers = {"Cache-Control": _KEPT, **_WORKERS.get(name, {})}
    return Response(found.body, media_type=found.kind, headers=headers)


def _read() -> Mapping[str, Asset]:
    files = [p for p in sorted(FOLDER.rglob("*")) if p.suffix in _KINDS]
    return {p.relative_to(FOLDER).as_posix(): _asset(p) for p in files}


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, _KINDS[path.suffix], hashlib.sha256(body).hexdigest()[:12])


ASSETS = _read()
"""Read once: they are small, and nothing on disk can be asked for by name."""
