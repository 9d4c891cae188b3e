"""Signing in and out, and the password of one's own."""

import hmac
import secrets
from hashlib import sha256
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from controlplane.portal.access.people import PasswordRefused, SignInRefused
from controlplane.portal.access.sessions import LIFE
from controlplane.portal.auth import cookie_name, same_secret
from controlplane.portal.pages.frame import Caller, CsrfChecked, onwards, page
from controlplane.portal.problems import ApiError
from controlplane.portal.services import PortalServices, Services

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

_FORM_COOKIE = "kedge_login"

Next = Annotated[str, Query(alias="next", max_length=2000)]


@router.get("/login")
def login_page(request: Request, services: Services, rights: Caller, wanted: Next = "/") -> Response:
    """The form. Its token is bound to a cookie of its own: nobody signs a browser in from outside."""
    if rights.session is not None:
        return onwards(request, _own_path(wanted))
    return _login_form(request, services, wanted=_own_path(wanted))


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
    wanted = _own_path(next_page)
    nonce = request.cookies.get(_FORM_COOKIE, "")
    if not nonce or not same_secret(token, _form_token(services, nonce)):
        return _login_form(request, services, wanted=wanted, name=name, problem="The form had grown old: once more.")
    try:
        cookie, _ = services.people.sign_in(name, password, services.clock())
    except SignInRefused as refused:
        return _login_form(request, services, wanted=wanted, name=name, problem=str(refused))
    if rights.session is not None:
        services.people.sessions.end(rights.session.key)
    answer = onwards(request, wanted)
    _give(answer, services, cookie)
    answer.delete_cookie(_FORM_COOKIE, path="/login")
    return answer


@router.post("/logout")
def logout(request: Request, services: Services, rights: Caller) -> Response:
    """The session ends here, not just in the browser."""
    if rights.session is not None:
        services.people.sessions.end(rights.session.key)
    answer = onwards(request, "/login")
    answer.delete_cookie(cookie_name(services.installation.id), path="/")
    return answer


@router.get("/account")
def account(request: Request, services: Services, rights: Caller) -> Response:
    """Who one is here, and the password form."""
    return page(request, "account.html", rights=rights, problem="", user=_user(services, rights))


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
    if rights.session is None:
        raise ApiError(409, "no-session", "the installation's token has no password")
    try:
        if new != again:
            raise PasswordRefused("The new password was typed in two ways.")
        cookie, _ = services.people.change_password(rights.session, old, new, services.clock())
    except (PasswordRefused, SignInRefused) as refused:
        content = {"rights": rights, "problem": str(refused), "user": _user(services, rights)}
        return page(request, "account.html", status=422, **content)
    answer = onwards(request, "/account")
    _give(answer, services, cookie)
    return answer


def _user(services: PortalServices, rights: Caller) -> object:
    return services.people.users.get(rights.session.user) if rights.session is not None else None


def _login_form(
    request: Request, services: PortalServices, *, wanted: str, name: str = "", problem: str = ""
) -> Response:
    nonce = secrets.token_urlsafe(24)
    content = {"token": _form_token(services, nonce), "wanted": wanted, "name": name, "problem": problem}
    answer = page(request, "login.html", status=422 if problem else 200, **content)
    answer.set_cookie(
        _FORM_COOKIE, nonce, max_age=3600, path="/login", httponly=True, samesite="strict", secure=_is_tls(request)
    )
    return answer


def _form_token(services: PortalServices, nonce: str) -> str:
    return hmac.new(services.installation.server_key, f"login {nonce}".encode(), sha256).hexdigest()


def _give(answer: Response, services: PortalServices, cookie: str) -> None:
    """Not `Secure`: pages are served on loopback alone, over plain HTTP."""
    answer.set_cookie(
        cookie_name(services.installation.id),
        cookie,
        max_age=int(LIFE.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
    )


def _is_tls(request: Request) -> bool:
    return request.url.scheme == "https"


def _own_path(wanted: str) -> str:
    """A page of ours, whatever was asked for: nobody is sent to another site."""
    parts = urlsplit(wanted)
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.netloc and not parts.scheme
    return wanted if is_ours and "\\" not in wanted and wanted.isprintable() else "/"
