"""What the gate writes down of a call once its answer is known, and before anybody gets that answer.

Every call that changes something and every call that is denied. Machines' own work is left out while it is let in:
reports of agents and states of Terraform are observations, some a second, and a forge's webhook only wakes a poll.
Anonymous calls are noted so often a minute and no more: they are not to fill the disk.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.audit.entry import Entry, Outcome
from controlplane.cluster.view import ClusterView

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
ASKS_ONLY = frozenset({"/v1/validate", "/v1/plan"})
"""POST because a spec is long: they record nothing."""
WORK_OF_MACHINES = ("/agent/v1/report", "/agent/v1/unchanged", "/terraform/", "/hooks/")
DENIED = (401, 403, 421, 429)

_ANONYMOUS_A_MINUTE = 30
_REMEMBERED = 2000


@dataclass(frozen=True, slots=True)
class Call:
    """One request as far as the audit looks at it. `showed`: it came with a credential, right or wrong."""

    method: str
    path: str
    client: str
    showed: bool
    request: str = ""
    """Its id."""

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE_METHODS or self.path in ASKS_ONLY


def entry_of(
    call: Call, rights: Rights | None, status: int, *, views: Iterable[ClusterView], name: str, now: datetime
) -> Entry | None:
    """The entry of an answered call, None where there is nothing to note. `name` is that of the route's cluster."""
    decisive = rights.trail.decisive if rights is not None else None
    hidden = status == 404 and rights is not None and _is_hidden(rights, name, views)
    is_refused = status in DENIED or hidden or (decisive is not None and not decisive.allowed)
    if not is_refused and (call.is_safe or call.path.startswith(WORK_OF_MACHINES)):
        return None
    if rights is None and not call.showed and call.is_safe:
        return None  # a browser on its way to the login page asked for nothing yet
    trail = rights.trail if rights is not None else None
    is_done = status < 400 and not (trail and trail.refused)
    outcome = Outcome.DENIED if is_refused else Outcome.DONE if is_done else Outcome.FAILED
    said = (trail.note, trail.refused) if trail else ()
    return Entry(
        at=now,
        who=(trail.who if trail else "") or (rights.subject if rights is not None else "nobody"),
        via=rights.via if rights is not None else "",
        client=call.client,
        call=f"{call.method} {_plain(call.path, 300)}",
        verb=decisive.verb if decisive else Verb.READ.value if hidden or call.is_safe else call.method.lower(),
        object=_plain(decisive.what if decisive else name, 200),
        outcome=outcome,
        status=status,
        event_position=trail.event_position if trail else None,
        note=_plain(": ".join(part for part in said if part), 300),
        request=call.request,
    )


class AnonymousCalls:
    """How often anonymous calls are noted: so many a minute and address; the next one that is tells of the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def admits(self, client: str, now: datetime) -> tuple[bool, int]:
        """Whether this one is noted, and how many before it were not."""
        with self._lock:
            since, count = self._seen.pop(client, (now, 0))
            left_out = 0
            if now - since >= timedelta(minutes=1):
                left_out, since, count = max(0, count - _ANONYMOUS_A_MINUTE), now, 0
            self._seen[client] = (since, count + 1)
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        return count < _ANONYMOUS_A_MINUTE, left_out


def _is_hidden(rights: Rights, name: str, views: Iterable[ClusterView]) -> bool:
    """Whether there is such a cluster, and they may not know."""
    return bool(name) and any(v.name == name and not v.deleted and not rights.may_on(Verb.READ, v) for v in views)


def _plain(text: str, longest: int) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:longest])
