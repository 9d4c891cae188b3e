"""What a cluster's VMs are made from, as it is folded."""

from dataclasses import dataclass
from datetime import datetime

from events import facts


@dataclass(frozen=True, slots=True)
class ImageView:
    """The revision of the image catalogue the cluster was given. `reached_at`: since when every VM is made from it."""

    chosen: facts.ImageChosen
    since: datetime
    reached_at: datetime | None = None

    @property
    def name(self) -> str:
        return self.chosen.revision
