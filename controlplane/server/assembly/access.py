"""Builds who may come in, out of the settings and the database."""

from datetime import timedelta

from sqlalchemy import Engine

from controlplane.api.access import accounts, oidc_users, sessions, tokens, users
from controlplane.api.oidc.provider import Provider
from controlplane.api.oidc.signin import OidcSignIn
from controlplane.server.settings import Settings
from controlplane.storage.home import Installation


def people_of(settings: Settings, engine: Engine) -> accounts.People:
    """Users, sessions, tokens, and people of the provider where there is one."""
    oidc_trust = timedelta(seconds=settings.oidc.token_trust_s) if settings.oidc else timedelta()
    return accounts.People(
        users=users.SqlUserStore(engine),
        sessions=sessions.SqlSessionStore(engine),
        tokens=tokens.SqlTokenStore(engine),
        oidc=oidc_users.SqlOidcPeople(engine),
        oidc_trust=oidc_trust,
    )


def oidc_of(settings: Settings, engine: Engine, installation: Installation) -> OidcSignIn | None:
    """The way in by the provider, None where the settings name none."""
    if settings.oidc is None:
        return None
    return OidcSignIn(
        Provider(settings.oidc, egress=settings.allow.egress), oidc_users.SqlOidcPeople(engine), installation.server_key
    )
