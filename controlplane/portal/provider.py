"""Signing in by the OIDC provider: on to it, back from it, and out of it."""

import logging
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from controlplane.api.access.accounts import SignInRefused
from controlplane.api.access.caller import Caller
from controlplane.api.access.oidc_users import ATTEMPT_LIFE
from controlplane.api.oidc.binding import OidcRefused
from controlplane.api.oidc.provider import ProviderAway, SignInFailed
from controlplane.api.oidc.signin import OidcSignIn, SignInAnswer
from controlplane.api.problems import ApiError
from controlplane.api.services import PortalServices, Services
from controlplane.portal.frame import PAGE_HEADERS
from controlplane.portal.signing import Next, is_tls, own_path, signed_in

_log = logging.getLogger(__name__)

router = APIRouter(prefix="/oidc", tags=["pages"], include_in_schema=False)

_COOKIE = "kedge_oidc"

Text = Annotated[str, Query(max_length=4000)]


@router.get("/begin")
def begin(request: Request, services: Services, wanted: Next = "/") -> Response:
    """To the provider. A GET, because a browser's policy for forms would stop it on the way to another site."""
    oidc = _provider(services)
    try:
        url, cookie = oidc.begin(_base(request), services.clock())
    except (ProviderAway, SignInFailed) as error:
        raise _away(error) from error
    answer = RedirectResponse(url, 303, headers=PAGE_HEADERS)
    answer.set_cookie(
        _COOKIE,
        f"{cookie}/{quote(own_path(wanted), safe='')}",
        max_age=int(ATTEMPT_LIFE.total_seconds()),
        path="/oidc",
        httponly=True,
        samesite="lax",  # the provider sends the browser back: `strict` would leave the cookie behind
        secure=is_tls(request),
    )
    return answer


@router.get("/callback")
def callback(
    request: Request,
    services: Services,
    rights: Caller,
    code: Text = "",
    state: Text = "",
    error: Text = "",
    iss: Text = "",
) -> Response:
    """From the provider, with its answer: a fresh session, or why there is none."""
    oidc, now = _provider(services), services.clock()
    cookie, _, wanted = request.cookies.get(_COOKIE, "").partition("/")
    try:
        person = oidc.finish(SignInAnswer(code, state, error, iss), cookie, _base(request), now)
        given, session = services.access.people.sign_in_oidc(person, now, life=oidc.session_life)
    except (SignInFailed, SignInRefused) as refused:
        rights.trail.judged("sign in", "by the provider", allowed=False)
        rights.trail.note = str(refused)
        then = "Begin again at the login page; if it goes on, show this to an administrator."
        raise ApiError(403, "sign-in-refused", str(refused), next_step=then) from refused
    except ProviderAway as away:
        raise _away(away) from away
    except OidcRefused as wrong:
        _log.error("sign-in by the provider fails: %s", wrong)
        raise ApiError(503, "provider-secret", "this server lacks its secret at the provider") from wrong
    answer = signed_in(request, services, rights, given, session, unquote(wanted) or "/")
    answer.delete_cookie(_COOKIE, path="/oidc")
    return answer


@router.get("/out")
def out(request: Request, services: Services) -> Response:
    """Out of the provider too, where it offers that; here one has signed out already. Changes nothing of ours."""
    try:
        url = _provider(services).way_out(_base(request))
    except (ProviderAway, SignInFailed) as error:
        raise _away(error) from error
    return RedirectResponse(url or "/login", 303, headers=PAGE_HEADERS)


@router.post("/backchannel")
def backchannel(
    services: Services, rights: Caller, logout_token: Annotated[str, Form(max_length=16_000)] = ""
) -> Response:
    """From the provider itself: it has signed somebody out, so their sessions here end, with every open page.

    Back-Channel Logout 1.0, section 2.5: 200 also where nobody of that name was here, 400 for a wrong token.
    """
    oidc = _provider(services)
    try:
        subjects = oidc.signed_out(logout_token, services.clock())
    except SignInFailed as refused:
        rights.trail.judged("sign out", "by the provider", allowed=False)
        rights.trail.note = str(refused)
        raise ApiError(400, "logout-refused", str(refused)) from refused
    except ProviderAway as away:
        raise _away(away) from away
    for subject in subjects:
        services.access.people.sessions.end_all_of(subject)
    rights.trail.judged("sign out", ", ".join(subjects) or "an unknown user", allowed=True)
    return Response(status_code=200, headers={"Cache-Control": "no-store"})


def _provider(services: PortalServices) -> OidcSignIn:
    if services.access.oidc is None:
        raise ApiError(404, "no-provider", "no provider is set", next_step="`[oidc]` in the server's settings.")
    return services.access.oidc


def _base(request: Request) -> str:
    """This server as the browser calls it. The gate has held `Host` to the list of ours."""
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


def _away(error: Exception) -> ApiError:
    then = "Try again; people with a password here can sign in."
    return ApiError(503, "provider-away", "the provider's answer is not valid", detail=str(error), next_step=then)
