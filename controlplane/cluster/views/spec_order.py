"""What the order of the fleet has to know of one cluster: which changes of its spec were reached, and since when."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from events.spec.model import KafkaClusterDocument


@dataclass(frozen=True, slots=True)
class SpecChange:
    """One field with its new value, the same for every cluster that gets it: `kafka.version`, `"4.2.0"`.

    `path` is without the names of pools, `value` is JSON.
    """

    path: str
    value: str

    def __str__(self) -> str:
        return f"{self.path} {self.value.strip(chr(34))}"


@dataclass(frozen=True, slots=True)
class SpecOrderView:
    """`document` was reached last. `since`: when a change was, or when the last thing ended that went wrong while it
    soaked. `taken_back`: what was begun, and another spec came before it was reached.
    """

    document: KafkaClusterDocument
    since: Mapping[SpecChange, datetime]
    taken_back: Mapping[SpecChange, datetime]
    differs: list[tuple[KafkaClusterDocument, frozenset[SpecChange]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """What was found last to differ from `document`, and in which spec: worked out once for all events of a roll."""
