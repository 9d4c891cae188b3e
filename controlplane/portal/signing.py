"""Signing in and out, and what is one's own: the password, the tokens of one's programs."""

import hmac
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from controlplane.api.access.accounts import PasswordRefused, SignInRefused
from controlplane.api.access.bindings import BindingRefused, role_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import ALLOWS, Role
from controlplane.api.access.sessions import LIFE, BrowserSession
from controlplane.api.access.tokens import TokenRefused
from controlplane.api.auth import cookie_name, same_secret
from controlplane.api.problems import ApiError
from controlplane.api.services import PortalServices, Services
from controlplane.portal.frame import CsrfChecked, onwards, page
from controlplane.portal.zones import COOKIE as ZONE_COOKIE, KEPT_S, zone_names

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

_FORM_COOKIE = "kedge_login"

Next = Annotated[str, Query(alias="next", max_length=2000)]


@router.get("/login")
def login_page(
    request: Request,
    services: Services,
    rights: Caller,
    wanted: Next = "/",
    left: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """The form. Its token is bound to a cookie of its own: nobody signs a browser in from outside."""
    if rights.session is not None:
        return onwards(request, own_path(wanted))
    return _login_form(request, services, wanted=own_path(wanted), left=left == "provider")


@router.post("/login")
def login(
    request: Request,
    services: Services,
    rights: Caller,
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=4096)] = "",
    token: Annotated[str, Form(max_length=200)] = "",
    next_page: Annotated[str, Form(alias="next", max_length=2000)] = "/",
) -> Response:
    """A fresh session; the one the browser came with ends."""
    wanted = own_path(next_page)
    nonce = request.cookies.get(_FORM_COOKIE, "")
    if not nonce or not same_secret(token, _form_token(services, nonce)):
        return _login_form(request, services, wanted=wanted, name=name, problem="The form has expired. Try again.")
    client = request.client.host if request.client else ""
    try:
        cookie, session = services.access.people.sign_in(name, password, services.clock(), client=client)
    except SignInRefused as refused:
        # A name nobody has may be a password in the wrong field: it is not written down.
        is_known = services.access.people.users.get(name) is not None
        rights.trail.judged("sign in", name if is_known else "an unknown name", allowed=False)
        return _login_form(request, services, wanted=wanted, name=name, problem=str(refused))
    answer = signed_in(request, services, rights, cookie, session, wanted)
    answer.delete_cookie(_FORM_COOKIE, path="/login")
    return answer


@router.post("/logout")
def logout(request: Request, services: Services, rights: Caller) -> Response:
    """The session ends here, not just in the browser."""
    if rights.session is not None:
        services.access.people.sessions.end(rights.session.key)
    rights.trail.judged("sign out", "", allowed=True)
    is_oidc = rights.subject.startswith("oidc:")
    answer = onwards(request, "/login?left=provider" if is_oidc and services.access.oidc is not None else "/login")
    answer.delete_cookie(cookie_name(services.access.installation.id), path="/")
    return answer


@router.get("/account")
def account(request: Request, services: Services, rights: Caller) -> Response:
    """Who one is here, the tokens of one's programs, and the password form."""
    return _account(request, services, rights)


@router.post("/account/tokens")
def make_token(
    request: Request,
    services: Services,
    rights: Caller,
    label: Annotated[str, Form(max_length=200)] = "",
    role: Annotated[str, Form(max_length=200)] = "",
    scope: Annotated[str, Form(max_length=200)] = "",
    days: Annotated[int, Form()] = 90,
) -> Response:
    """A token; its text is on the page that answers, this once."""
    try:
        text, token = services.access.people.make_token(
            rights,
            label=label.strip(),
            role=role_of(role),
            scope=scope.strip(),
            life=timedelta(days=days),
            now=services.clock(),
        )
    except (TokenRefused, BindingRefused) as refused:
        return _account(request, services, rights, token_problem=str(refused), status=422)
    rights.trail.judged("make token", f"{token.id} {token.label}", allowed=True)
    rights.trail.note = f"{token.role} on {token.scope} until {token.expires_at:%Y-%m-%d}"
    return _account(request, services, rights, made=(token.label, text))


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(request: Request, token_id: str, services: Services, rights: Caller) -> Response:
    """It opens nothing any more. One's own only."""
    found = services.access.people.tokens.get(token_id)
    if found is None or found.maker != rights.subject:
        raise ApiError(404, "token-not-found", "there is no such token of yours")
    rights.trail.judged("revoke token", f"{found.id} {found.label}", allowed=True)
    services.access.people.tokens.revoke(token_id, services.clock())
    return onwards(request, "/account")


@router.post("/account/zone")
def choose_zone(
    request: Request, services: Services, rights: Caller, zone: Annotated[str, Form(max_length=64)] = ""
) -> Response:
    """The time zone of this browser from now on: a cookie, and nothing on the server."""
    if zone.strip() not in zone_names():
        problem = f"{zone.strip()[:64]!r} is not a time zone: name one as in Europe/Berlin, or UTC"
        return _account(request, services, rights, zone_problem=problem, status=422)
    answer = onwards(request, "/account")
    answer.set_cookie(
        ZONE_COOKIE, zone.strip(), max_age=KEPT_S, path="/", httponly=True, samesite="lax", secure=is_tls(request)
    )
    return answer


@router.post("/account/password")
def change_password(
    request: Request,
    services: Services,
    rights: Caller,
    old: Annotated[str, Form(max_length=4096)] = "",
    new: Annotated[str, Form(max_length=4096)] = "",
    again: Annotated[str, Form(max_length=4096)] = "",
) -> Response:
    """All sessions of the person end, and a new one begins."""
    if rights.session is None or _user(services, rights) is None:
        raise ApiError(409, "no-password", "you have no password here")
    try:
        if new != again:
            raise PasswordRefused("The two new passwords differ.")
        cookie, _ = services.access.people.change_password(rights.session, old, new, services.clock())
    except (PasswordRefused, SignInRefused) as refused:
        return _account(request, services, rights, problem=str(refused), status=422)
    answer = onwards(request, "/account")
    _give(request, answer, services, cookie)
    return answer


def signed_in(
    request: Request, services: PortalServices, rights: Rights, cookie: str, session: BrowserSession, wanted: str
) -> Response:
    """On to a page of ours with a fresh session; the one the browser came with ends."""
    if rights.session is not None:
        services.access.people.sessions.end(rights.session.key)
    rights.trail.who = session.subject
    rights.trail.judged("sign in", session.subject, allowed=True)
    answer = onwards(request, own_path(wanted))
    _give(request, answer, services, cookie)
    return answer


def _account(
    request: Request,
    services: PortalServices,
    rights: Rights,
    *,
    problem: str = "",
    token_problem: str = "",
    zone_problem: str = "",
    made: tuple[str, str] | None = None,
    status: int = 200,
) -> Response:
    now = services.clock()
    tokens = [(t, t.state(now)) for t in services.access.people.tokens.all() if t.maker == rights.subject]
    return page(
        request,
        "account.html",
        status=status,
        rights=rights,
        problem=problem,
        token_problem=token_problem,
        zone_problem=zone_problem,
        zones=sorted(zone_names()),
        made=made,
        user=_user(services, rights),
        tokens=tokens,
        roles={role.value: ", ".join(sorted(ALLOWS[role])) for role in Role},
    )


def _user(services: PortalServices, rights: Caller) -> object:
    return services.access.people.users.get(rights.session.user) if rights.session is not None else None


def _login_form(
    request: Request, services: PortalServices, *, wanted: str, name: str = "", problem: str = "", left: bool = False
) -> Response:
    nonce = secrets.token_urlsafe(24)
    content: dict[str, object] = {"token": _form_token(services, nonce), "wanted": wanted, "name": name}
    provider = services.access.oidc.binding.button if services.access.oidc is not None else ""
    content |= {"problem": problem, "provider": provider, "left": left and bool(provider)}
    answer = page(request, "login.html", status=422 if problem else 200, **content)
    answer.set_cookie(
        _FORM_COOKIE, nonce, max_age=3600, path="/login", httponly=True, samesite="strict", secure=is_tls(request)
    )
    return answer


def _form_token(services: PortalServices, nonce: str) -> str:
    return hmac.new(
        services.access.installation.server_key.get_secret_value(), f"login {nonce}".encode(), sha256
    ).hexdigest()


def _give(request: Request, answer: Response, services: PortalServices, cookie: str) -> None:
    """`Secure` wherever TLS is spoken: on loopback pages are served over plain HTTP."""
    answer.set_cookie(
        cookie_name(services.access.installation.id),
        cookie,
        max_age=int(LIFE.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_tls(request),
    )


def is_tls(request: Request) -> bool:
    """Whether the browser came over TLS."""
    return request.url.scheme == "https"


def own_path(wanted: str) -> str:
    """A page of ours, whatever was asked for: nobody is sent to another site."""
    parts = urlsplit(wanted)
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    return wanted if is_ours and "\\" not in wanted and wanted.isprintable() else "/"
