"""What steps of a pair say to people."""

from controlplane.fleet.failovers.fold import RULES
from controlplane.fleet.failovers.step_text import step_words
from events import failover_facts as facts
from tests.unit.controlplane.failover_samples import ABORTED, ONE_OF_EACH, PLANNED

NAMES = {"eu": "orders-eu", "us": "orders-us"}


def test_every_event_of_a_failover_and_an_abort_is_said_in_words_of_its_own() -> None:
    declared = facts.FailoverDeclared | facts.PairSpecChanged | facts.PairUndeclared | facts.PairWithdrawn
    of_people = declared | facts.FailoverRequested
    steps = [f for f in (*PLANNED, *ABORTED, *ONE_OF_EACH) if type(f) in RULES and not isinstance(f, of_people)]
    said = {type(fact): step_words(fact, NAMES) for fact in steps}
    assert len(set(said.values())) == len(said)
    assert said.keys() == {type(f) for f in ONE_OF_EACH if type(f) in RULES and not isinstance(f, of_people)}
    assert not [words for words in said.values() if "{" in words]


def test_a_door_and_a_name_are_told_with_their_cluster() -> None:
    assert step_words(facts.DoorClosed("us", 1, "agents", ""), NAMES) == "the door of orders-us is proved shut"
    assert step_words(facts.DoorOpened("gone", 1), NAMES) == "the door of gone is open"
    assert step_words(facts.NamesFlipped("f1", "eu"), NAMES) == "the pair's name leads to orders-eu"
