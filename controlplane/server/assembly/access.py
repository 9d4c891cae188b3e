"""Builds who may come in, out of the settings and the database."""

from datetime import timedelta

from sqlalchemy import Engine

from controlplane.api.access.accounts import People
from controlplane.api.access.oidc_users import SqlOidcPeople
from controlplane.api.access.sessions import SqlSessionStore
from controlplane.api.access.tokens import SqlTokenStore
from controlplane.api.access.users import SqlUserStore
from controlplane.api.oidc.provider import Provider
from controlplane.api.oidc.signin import OidcSignIn
from controlplane.server.settings import Settings
from controlplane.storage.home import Installation


def people_of(settings: Settings, engine: Engine) -> People:
    """Users, sessions, tokens, and people of the provider where there is one."""
    oidc_trust = timedelta(seconds=settings.oidc.token_trust_s) if settings.oidc else timedelta()
    return People(
        SqlUserStore(engine),
        SqlSessionStore(engine),
        tokens=SqlTokenStore(engine),
        oidc=SqlOidcPeople(engine),
        oidc_trust=oidc_trust,
    )


def oidc_of(settings: Settings, engine: Engine, installation: Installation) -> OidcSignIn | None:
    """The way in by the provider, None where the settings name none."""
    if settings.oidc is None:
        return None
    return OidcSignIn(
        Provider(settings.oidc, egress=settings.allow.egress), SqlOidcPeople(engine), installation.server_key
    )
