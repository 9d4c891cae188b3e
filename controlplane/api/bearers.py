"""Whose bearer that is: the installation's token on this machine, a person's token anywhere; and how often one errs."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import SecretStr

from controlplane.api.access.accounts import People
from controlplane.api.access.passwords import Guesses, neighbourhood
from controlplane.api.access.rights import Rights, whole_rights
from controlplane.api.access.tokens import INSTALLATION
from controlplane.api.auth import same_secret
from controlplane.api.portal_access import Door
from controlplane.api.problems import ApiError

_FREE_TRIES = 20
_REMEMBERED = 1000


@dataclass
class Bearers:
    """Wrong tokens by address: after 20 in a row that address waits, ever longer, up to 5 minutes.

    A token that was right before is looked at all the same: a neighbour's mistakes lock nobody out.
    """

    people: People
    installation_token: SecretStr
    _wrong: Guesses = field(default_factory=lambda: Guesses(_FREE_TRIES))
    _right: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rights(self, shown: str, *, door: Door, client: str, now: datetime) -> Rights | None:
        """What the bearer may do, None for a wrong one. Raises ApiError 429 while the address waits."""
        # It belongs to this machine: off it, only tokens that name their person open anything.
        if door is Door.LOOPBACK and same_secret(shown, self.installation_token.get_secret_value()):
            return whole_rights(INSTALLATION, via="home token")
        key = hashlib.sha256(shown.encode()).hexdigest()
        near = neighbourhood(client)
        wait_s = self._wrong.wait_s(near, now)
        with self._lock:
            was_right = key in self._right
        if wait_s and not was_right:
            after = max(1, round(wait_s))
            raise ApiError(429, "too-many-guesses", "too many wrong tokens from this address", retry_after_s=after)
        found = self.people.recognise_token(shown, now, client=client)
        if found is None:
            self._wrong.failed(near, now)
        else:
            self._wrong.forget(near)
        with self._lock:
            self._right.pop(key, None)
            if found is not None:
                self._right[key] = None
            while len(self._right) > _REMEMBERED:
                self._right.popitem(last=False)
        return found
