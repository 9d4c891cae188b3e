"""What the HTTP API says of the fleet as a list, and of what a search found in it."""

from pydantic import Field

from controlplane.api.schemas.clusters import ClusterOut
from controlplane.api.schemas.messages import Message


class FoundOut(Message):
    """One thing that holds the text."""

    id: str = Field(description="its own in the answer: what `after` takes")
    kind: str = Field(description="`cluster`, `topic`, or what a VM serves with its id, as in `broker 1001`")
    name: str
    cluster: str
    detail: str = Field(default="", description="of a VM its cluster, cloud id, address and zone")
    page: str = Field(description="the path of its page in the portal")


class SearchOut(Message):
    """What was found: clusters, then VMs, then topics, those that begin with the text first. `found` may be a page."""

    found: list[FoundOut]
    things: int = Field(description="clusters and VMs, at most 1000 are counted")
    topics: int = Field(description="at most 1000 are counted")
    cut: bool = Field(description="there is more than is counted: say more of the name")
    refused: str = Field(description="why a regular expression was not looked for, else empty")
    late: bool = Field(description="time was up, after 2 s, before all names were seen")
    recorded: int = Field(description="clusters whose topics are from an earlier reading")
    unread: int = Field(description="clusters whose topics nobody knows yet: they are not among these")


class WordOut(Message):
    """A state in a word, and why."""

    word: str
    reason: str


class FleetRowOut(Message):
    """One cluster as the list of the portal shows it."""

    cluster: ClusterOut
    team: str
    environment: str = Field(description="as its label `environment` or `env` says, empty where neither does")
    sync: WordOut
    health: WordOut
    under_replicated: int | None = Field(description="partitions; null where Kafka was not read by this server")
    leaderless: int | None = Field(description="partitions without a leader; null as well")


class FleetOut(Message):
    """The fleet by name; `total` counts all that match, of which `clusters` may be a page."""

    clusters: list[FleetRowOut]
    total: int
