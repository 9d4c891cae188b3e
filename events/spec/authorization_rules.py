"""Rules about who may do what: whoever is not asked has full rights only where that is written down, and nobody is
locked out by a listener or an authorization."""

from collections.abc import Iterator, Mapping
from typing import Any

from events.spec import problems as p
from events.spec.positions import Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.security import Authorization, Listener, Security
from events.spec.user_names import why_no_user

_AUTHORIZATION: Path = ("spec", "authorization")
_SUPER_USERS: Path = (*_AUTHORIZATION, "superUsers")


def authorization_problems(sections: Mapping[str, Any], where: Positions) -> Iterator[Problem]:
    """Everything wrong with who may do what. `sections` are the sound ones, by python name."""
    security: Security | None = sections.get("security")
    listeners: tuple[Listener, ...] | None = sections.get("listeners")
    authorization: Authorization | None = sections.get("authorization")
    if security is None or listeners is None:
        return  # what is not sound is told by itself
    if authorization is not None and security.internal != "tls":
        message = (
            "`authorization` is given, and nodes speak plaintext: Kafka knows nobody there, not even its own nodes"
        )
        fix = "Write `security: {internal: tls}` for a new cluster, or take the section away."
        yield where.problem(p.AUTHORIZATION, _AUTHORIZATION, message, fix, key=True)
        return
    if security.internal == "tls":
        yield from _unasked(authorization, listeners, where)
    if authorization is not None:
        yield from _super_users(authorization, listeners, where)


def _unasked(
    authorization: Authorization | None, listeners: tuple[Listener, ...], where: Positions
) -> Iterator[Problem]:
    asking, unasked = ([one.name for one in listeners if one.asks is asks] for asks in (True, False))
    if authorization is None:
        if asking and unasked:
            message = (
                f"listener `{asking[0]}` asks clients who they are, `{unasked[0]}` does not, and nothing says what "
                "clients may do who are not asked"
            )
            fix = "Write `authorization: {anonymous: refuse}`; or `full`, and everybody there may do everything."
            yield where.problem(p.AUTHORIZATION, ("spec", "listeners"), message, fix, key=True)
        return
    if unasked and authorization.anonymous is None:
        message = (
            f"listener `{unasked[0]}` asks nobody who they are, and `authorization` does not say what clients may do "
            "there"
        )
        fix = "Write `anonymous: refuse`; or `anonymous: full`, and everybody there may do everything."
        yield where.problem(p.AUTHORIZATION, _AUTHORIZATION, message, fix, key=True)
    if authorization.anonymous == "refuse" and not asking:
        message = "whoever is not asked is refused, and no listener asks: every client would be locked out"
        fix = "Add a listener with `security: tls` and `authentication: {type: scram-sha-512}`, or write `full`."
        yield where.problem(p.AUTHORIZATION, (*_AUTHORIZATION, "anonymous"), message, fix)


def _super_users(authorization: Authorization, listeners: tuple[Listener, ...], where: Positions) -> Iterator[Problem]:
    names = authorization.super_users
    for index, name in enumerate(names):
        if why := why_no_user(name):
            message = f"`{shorten(name)}` is no user's name: {why}"
            fix = "Write the name of a user, as in `root`; nodes and Kedge's server are super users anyway."
            yield where.problem(p.SUPER_USER, (*_SUPER_USERS, index), message, fix)
        elif name in names[:index]:
            yield where.problem(p.REPEATED, (*_SUPER_USERS, index), f"`{name}` is listed twice", "List it once.")
    if names and not any(one.asks for one in listeners):
        message = "super users are named, and no listener asks anybody who they are: nobody could be one of them"
        fix = "Add a listener that asks, or take the names away."
        yield where.problem(p.SUPER_USER, _SUPER_USERS, message, fix, key=True)
