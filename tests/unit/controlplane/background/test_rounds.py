"""A round over clusters: what one of them raises is told at the end, and stops none of the others."""

import logging
import struct

import pytest

from controlplane.background.rounds import Round, RoundIncomplete
from controlplane.storage.lease import LostLeadership
from events.errors import StoreUnavailable


def test_what_one_cluster_raises_stops_none_of_the_others_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    this_round, done = Round("groups"), []
    for name in ("billing", "orders", "shop"):
        with this_round.apart(name):
            if name == "billing":
                struct.unpack(">i", b"")
            done.append(name)
    assert done == ["orders", "shop"]
    assert this_round.failed == {"billing"}
    with pytest.raises(RoundIncomplete, match="groups: left out of this round: billing: error: unpack requires"):
        this_round.close()
    (logged,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert "groups of billing: left out of this round" in logged.getMessage()
    assert logged.exc_info is not None


def test_a_round_in_which_nothing_failed_says_nothing() -> None:
    this_round = Round("groups")
    with this_round.apart("orders"):
        pass
    this_round.close()


@pytest.mark.parametrize("error", [StoreUnavailable("away"), LostLeadership("another server leads")])
def test_what_concerns_every_cluster_ends_the_round(error: Exception) -> None:
    this_round = Round("groups")
    with pytest.raises(type(error)), this_round.apart("orders"):
        raise error
    assert not this_round.failed


def test_what_is_told_is_one_short_line_however_many_failed_and_whatever_they_said() -> None:
    this_round = Round("groups")
    for n in range(5):
        with this_round.apart(f"c-{n}"):
            raise ValueError("two\nlines \x1b[31m" + "x" * 1000)
    with pytest.raises(RoundIncomplete) as told:
        this_round.close()
    said = str(told.value)
    assert said.isprintable()
    assert len(said) < 800
    assert said.endswith("; and 2 more")
