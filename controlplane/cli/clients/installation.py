"""The server itself: who may do what, what was done, and its backup."""

from collections.abc import Mapping

from controlplane.api.schemas import (
    access as access_api,
    commands as command_api,
    loop as loop_api,
    system as system_api,
)
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import TIMEOUT_S, part


class InstallationCalls(ApiCalls):
    def version(self, *, timeout_s: float = TIMEOUT_S) -> system_api.VersionOut:
        """Who answers."""
        return self._get("/version", system_api.VersionOut, timeout_s=timeout_s)

    def loop(self) -> loop_api.LoopOut:
        """How the loop of the server that answers does."""
        return self._get("/loop", loop_api.LoopOut)

    def whoami(self) -> access_api.WhoOut:
        """Who the token is of, and what it may do."""
        return self._get("/whoami", access_api.WhoOut)

    def tokens(self, *, everyone: bool = False) -> list[access_api.TokenOut]:
        """One's own tokens, or all."""
        return self._whole("/tokens", list[access_api.TokenOut], params={"everyone": str(everyone).lower()})

    def make_token(self, order: access_api.TokenIn) -> access_api.TokenMadeOut:
        """A new token, with its text."""
        return self._post("/tokens", order, access_api.TokenMadeOut)

    def revoke_token(self, token_id: str) -> command_api.ChangedOut:
        return self._post(f"/tokens/{part(token_id)}/revoke", command_api.ReasonIn(), command_api.ChangedOut)

    def audit(self, params: Mapping[str, str]) -> access_api.AuditOut:
        return self._get("/audit", access_api.AuditOut, params=params)

    def check_audit(self) -> access_api.AuditCheckOut:
        """Holds every entry to its hash."""
        return self._get("/audit/check", access_api.AuditCheckOut)

    def backup(self, order: system_api.BackupIn) -> system_api.BackupOut:
        return self._post("/backup", order, system_api.BackupOut)
