"""Whether each cloud is ready for clusters: what the API answers from, whichever process has looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from providers.finding import Finding

KEPT_FOR = timedelta(minutes=5)
"""A place takes some ten calls. On Hetzner, where an account has one a second for all it does, so much is left over."""


class CloudUnknown(Exception):
    """Nobody implements a cloud of that name. The message says which there are."""


@dataclass(frozen=True, slots=True)
class Examination:
    """Of one cloud. `ended_at` is None until all is told, `began_at` where it has not been asked yet.

    `asking`: it is asked now; findings are those of the time before, or, the first time, none.
    """

    cloud: str
    asking: bool = False
    began_at: datetime | None = None
    ended_at: datetime | None = None
    findings: tuple[Finding, ...] = ()


class Examinations(Protocol):
    """Where it is asked for; `Examiner` is one."""

    def results(self, cloud: str = "") -> Sequence[Examination]:
        """What is known of one cloud, or of all in use, at once; what is older than `KEPT_FOR` is asked for anew.

        Raises CloudUnknown, StoreUnavailable.
        """
