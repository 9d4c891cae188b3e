"""The partitions of a cluster that ail, of all topics, the worst first: chosen and counted for the page and the API.
Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.api.read_models.topics import AILMENTS, ailment
from planner.observed import KafkaSnapshot, PartitionSeen, once_a_reading

Place = tuple[int, str, int]
"""How bad, topic, number: where a partition stands in the list. It need not be there any more."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Those asked for, and how many there are of each word among those of such topics."""

    found: Sequence[PartitionSeen]
    by_word: dict[str, int]


@once_a_reading
def unhealthy_partitions(snapshot: KafkaSnapshot) -> Sequence[PartitionSeen]:
    """Every partition of the cluster that ails: those without a leader first, then those below min ISR, by name."""
    return sorted((p for p in snapshot.partitions if ailment(p)), key=_place)


def chosen_unhealthy(every: Sequence[PartitionSeen], *, text: str = "", word: str = "") -> Chosen:
    """Of those, the ones of topics with the text in their name; of these, those of one word where it is one."""
    wanted = text.strip().lower()
    named = [p for p in every if wanted in p.name.topic.lower()]
    by_word = dict.fromkeys(AILMENTS, 0)
    for p in named:
        by_word[ailment(p)] += 1
    return Chosen([p for p in named if word not in AILMENTS or word == ailment(p)], by_word)


def behind(found: Sequence[PartitionSeen], after: Place | None) -> Sequence[PartitionSeen]:
    """What follows a place."""
    return found if after is None else [p for p in found if _place(p) > after]


def id_of(p: PartitionSeen) -> str:
    """The place as programs carry it, as in `0/payments-3`."""
    rank, topic, number = _place(p)
    return f"{rank}/{topic}-{number}"


def place_of(its_id: str) -> Place | None:
    """The place of such an id; None where it is none."""
    rank, slash, name = its_id.partition("/")
    topic, dash, number = name.rpartition("-")
    if not (slash and dash and topic and rank in ("0", "1", "2") and number.isascii() and number.isdigit()):
        return None
    return int(rank), topic, int(number)


def _place(p: PartitionSeen) -> Place:
    return AILMENTS.index(ailment(p)), p.name.topic, p.name.partition
