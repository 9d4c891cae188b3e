"""The way to one UpCloud account: the SDK's manager, and the proof that it is the account the place means."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from upcloud_api import CloudManager  # type: ignore[import-untyped]
from upcloud_api.credentials import Credentials  # type: ignore[import-untyped]

from events.secrets import remember
from providers.base import Place
from providers.call_budget import CallBudget
from providers.errors import AuthFailed
from providers.proofs import Proofs
from providers.upcloud.calls import Calls, Pauses
from providers.upcloud.errors import translated
from providers.upcloud.settings import UpcloudSettings


@dataclass(slots=True)
class UpcloudAccess:
    """Managers by account. Thread-safe."""

    settings: UpcloudSettings
    pauses: Pauses
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _local: threading.local = field(default_factory=threading.local)
    budget: CallBudget = field(init=False)
    _proofs: Proofs = field(init=False)
    """By account and digest of the credentials: others have to be proved first."""

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("upcloud")
        self._proofs = Proofs(self.clock)

    def api(self, place: Place) -> Calls:
        """Calls whose credentials are proved to be of the place's account.

        Raises `PlaceUnknown`, `AuthFailed`, and what a call may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._calls(place)

    def prove(self, place: Place, *, afresh: bool = False) -> None:
        """Ask UpCloud who we are, unless that was proved a short while ago. Raises `AuthFailed` for another account."""
        account = self.settings.account(place)
        which = place.account, hash(self._credentials(place).authorization)
        if self._proofs.hold(which) and not afresh:
            return
        with translated(f"{place}: who am I"):
            told = str(self._calls(place).get_request("/account")["account"]["username"])
        if told != account.username:
            raise AuthFailed(f"{place}: the credentials are of {told!r}, the place is account {account.username!r}")
        self._proofs.note(which)

    def environment(self, place: Place) -> Mapping[str, str]:
        """The same credentials for Terraform, in the environment of its process and nowhere else."""
        given = self._credentials(place).dict
        # As the SDK does it: a token counts before a user name. The provider refuses to be given both.
        names = ("token",) if given["token"] else ("username", "password")
        remember(str(given[names[-1]]))
        return {f"UPCLOUD_{name.upper()}": str(given[name]) for name in names}

    def _calls(self, place: Place) -> Calls:
        """A thread has connections of its own: those of the SDK's library are not to be shared."""
        kept: dict[str, Calls] = self._local.__dict__.setdefault("calls", {})
        credentials = self._credentials(place)
        made = kept.get(place.account)
        if made is None or made.token != credentials.authorization:
            manager = CloudManager(**credentials.dict)
            endpoint = self.settings.endpoint_url
            root = f"{str(endpoint).rstrip('/')}/1.3" if endpoint else None
            manager.api = made = kept[place.account] = Calls(
                manager.api.token, root, self.pauses, self.budget.of(place)
            )
        return made

    def _credentials(self, place: Place) -> Credentials:
        """Read anew each time: a token that was rotated is the one that counts."""
        variable = self.settings.account(place).token_variable
        with translated(f"{place}: credentials"):
            found = Credentials(token=os.environ.get(variable)) if variable else Credentials.parse()
        if not found.is_defined:
            where = f"variable {variable} is empty" if variable else "neither the environment nor the keyring has any"
            raise AuthFailed(f"{place}: no credentials for this account profile: {where}")
        return found
