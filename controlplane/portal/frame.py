"""How a page is made: templates, the frame around each, and the headers a page goes out with."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fastapi import Depends, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from controlplane.api.access.caller import caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.auth import same_secret
from controlplane.api.problems import ApiError
from controlplane.api.services import PortalServices, Services, services_of
from controlplane.kafka.quorum import silent_for
from controlplane.portal.assets import asset_address
from controlplane.portal.zones import moment_here, printed_in, zone_of
from controlplane.runtime.path_names import group_address
from controlplane.runtime.quantities import ago, human_seconds
from controlplane.runtime.untrusted_text import shell_word, shown
from events.quantities import counted
from planner.quantities import human_bytes

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": CSP,
    "Vary": "HX-Request, Cookie",
    "Cache-Control": "no-store",
    # Not `no-referrer`: browsers then send `Origin: null` with our own forms, and the gate refuses those.
    "Referrer-Policy": "same-origin",
}

_SHOWN_AS_THEY_ARE = (Markup, int, float)  # a tuple: a union would be made anew for each of the thousands on a page
_IN_BACKTICKS = re.compile("`([^`]+)`")

CSRF_HEADER, CSRF_FIELD = "X-CSRF-Token", "csrf"


def page(request: Request, template: str, *, status: int = 200, **content: object) -> HTMLResponse:
    """A whole page, for a browser and for htmx alike: what htmx takes of it, its attributes say."""
    with printed_in(zone_of(request)):
        text = _TEMPLATES.get_template(template).render(**_frame(request), **content)
    return HTMLResponse(text, status, headers=PAGE_HEADERS)


def onwards(request: Request, path: str) -> Response:
    """To another page after something was done: a redirect, which htmx is told in its own way."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204, headers={"HX-Redirect": path, **PAGE_HEADERS})
    return RedirectResponse(path, 303, headers=PAGE_HEADERS)


def position_noted(request: Request, services: Services) -> None:
    """Which position of the event log the page is drawn from, or from a later one: what its stream goes on from."""
    services.fleet.clusters.catch_up()
    request.state.position = services.fleet.clusters.position


async def csrf_checked(request: Request) -> None:
    """Every unsafe method of a page shows the token of its session, by header or as a field of its form. 403 otherwise.

    A request with a bearer has no session and needs none: no page of another site can make a browser send one.
    """
    session = caller(request).session
    if request.method in ("GET", "HEAD", "OPTIONS") or session is None:
        return
    shown = request.headers.get(CSRF_HEADER, "")
    if not shown and _is_form(request):
        field = (await request.form()).get(CSRF_FIELD, "")
        shown = field if isinstance(field, str) else ""
    if not same_secret(shown, session.csrf):
        then = "Reload the page and repeat it: the page was from an earlier session."
        raise ApiError(403, "csrf", "this form is not of your session", next_step=then)


CsrfChecked = Depends(csrf_checked)
PositionNoted = Depends(position_noted)


def here_of(request: Request) -> str:
    """The address of this page, with what was asked of it."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _is_form(request: Request) -> bool:
    kind = request.headers.get("content-type", "")
    return kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data"))


def _frame(request: Request) -> Mapping[str, object]:
    """What every page shows. The login page before sign-in has no session and no menu."""
    rights: Rights | None = getattr(request.state, "rights", None)
    services: PortalServices | None = services_of(request) if rights is not None else None
    known = rights is not None and bool(rights.bindings or rights.session)
    return {
        "known": known,
        "who": rights.subject.removeprefix("user:") if rights and known else "",
        "csrf": rights.session.csrf if rights and rights.session else "",
        "is_admin": bool(rights and rights.may_everywhere(Verb.ADMINISTER)),
        "is_auditor": bool(rights and rights.may_everywhere(Verb.AUDIT)),
        "version": services.operations.version if services and known else "",
        "now": services.clock() if services else None,
        "loop_notice": services.operations.loop_notice() if services and known else "",
        "zone": zone_of(request),
        "here": here_of(request),
        "path": request.url.path,
        "position": getattr(request.state, "position", 0),
    }


def _age_words(then: datetime | None, now: datetime) -> str:
    return ago(then, now)


def _coded(sentence: str) -> Markup:
    """A sentence with what stands in `backticks` as code. It may be of foreign text: all of it is escaped first."""
    return Markup(_IN_BACKTICKS.sub(r"<code>\1</code>", str(escape(shown(sentence)))))  # noqa: S704  # nosec B704


def _as_shown(value: object) -> object:
    """What an expression puts on a page. What is markup already was made of parts that went through here."""
    return value if isinstance(value, _SHOWN_AS_THEY_ARE) else shown(str(value))


def _exact(value: object) -> Markup:
    """A value of a field of a form as it is, escaped: it comes back with the form, and has to be the same then."""
    return Markup(str(escape(value)).encode("utf-8", "replace").decode())  # noqa: S704  # nosec B704


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).resolve().parent / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_as_shown,
        auto_reload=False,  # the package does not change under a running server
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "ago": _age_words,
        "bytes": human_bytes,
        "coded": _coded,
        "counted": counted,
        "exact": _exact,
        "moment": moment_here,
        "seconds": human_seconds,
        "shell_word": shell_word,
        "silent_for": silent_for,
    }
    made.filters.update(filters)
    made.globals["asset"] = asset_address
    made.globals["group_address"] = group_address
    return made


_TEMPLATES = _environment()
