"""An error as a page: what, why, what next."""

from http import HTTPStatus

from fastapi import Request
from starlette.responses import Response

from controlplane.api.problems import ApiError
from controlplane.api.request_ids import request_id_of
from controlplane.portal.frame import page


def error_page(request: Request, told: ApiError) -> Response:
    """The page of an error, with its status. htmx shows it only for 422; the page it came from says the rest."""
    more = {"cluster": _cluster_of(request, told), "request_id": request_id_of(request.scope)}
    answer = page(request, "error.html", status=told.status_code, told=told.body, **more)
    for name, value in (told.headers or {}).items():
        if name.lower() != "www-authenticate":
            answer.headers[name] = value
    return answer


def _cluster_of(request: Request, told: ApiError) -> str:
    """Whose page leads back, "" where there is none: what is not found may be the cluster itself."""
    _, first, name, *_ = (*request.url.path.split("/"), "", "")
    return name if first == "clusters" and told.status_code != HTTPStatus.NOT_FOUND else ""
