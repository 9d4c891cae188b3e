"""The numbers of Kafka's protocol for what an ACL is made of, and our words for them (KIP-140, KIP-290, KIP-373)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.rights import acls


@dataclass(frozen=True, slots=True)
class Codes:
    """Words of numbers. A number that is newer than this table is its own word."""

    words: Mapping[int, str]
    _numbers: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {word: number for number, word in self.words.items()})

    def name(self, number: int) -> str:
        return self.words.get(number) or str(number)

    def code(self, word: str) -> int:
        number = self._numbers.get(word)
        return int(word) if number is None else number


RESOURCE = Codes({2: "topic", 3: "group", 4: "cluster", 5: "transactional-id", 6: "delegation-token", 7: "user"})
PATTERN = Codes({3: "literal", 4: "prefix"})
PERMISSION = Codes({2: "deny", 3: "allow"})
OPERATION = Codes(
    {
        2: acls.ALL,
        3: acls.READ,
        4: acls.WRITE,
        5: acls.CREATE,
        6: acls.DELETE,
        7: acls.ALTER,
        8: acls.DESCRIBE,
        9: acls.CLUSTER_ACTION,
        10: acls.DESCRIBE_CONFIGS,
        11: acls.ALTER_CONFIGS,
        12: acls.IDEMPOTENT_WRITE,
        13: acls.CREATE_TOKENS,
        14: acls.DESCRIBE_TOKENS,
        15: acls.TWO_PHASE_COMMIT,
    }
)
