"""Which password of a user Kafka has, by the one thing of a credential that it tells: the rounds it was hashed with.

Each password has a number. Its rounds follow from that, so that a server which died between giving Kafka a password and
recording it sees what became of it, and a password that somebody else has set is noticed.
"""

from typing import Final

FEWEST: Final = 8192
"""Kafka takes 4,096 to 16,384 rounds (`ScramMechanism`, `ScramControlManager`)."""
_KINDS: Final = 4095


def iterations_of(number: int, before: int = 0) -> int:
    """Rounds of the password `number` that takes the place of the one numbered `before` (0: of none). Never those of
    that one: where both would have the same, the odd one out."""
    own = FEWEST + 1 + 2 * (number % _KINDS)
    return own + 1 if before and number != before and (number - before) % _KINDS == 0 else own


def may_have(number: int, iterations: int) -> bool:
    """Whether a credential with so many rounds may be that password's, whichever it took the place of."""
    return iterations - iterations_of(number) in (0, 1)
