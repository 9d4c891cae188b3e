"""What one look changes: nothing twice, nothing over that was not looked at."""

from datetime import UTC, datetime, timedelta

import pytest

from planner.anomalies.judge import Anomaly, AnomalyFinding, FindingStatus, changes, is_notified
from planner.anomalies.kinds import GRACE, WORDS, Kind, State

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOUND = AnomalyFinding(Kind.SLOW_BROKER, "brokers-a-0", "produce 200 ms")


def an_anomaly(state: State = State.HEALING, **changes_: object) -> Anomaly:
    values: dict[str, object] = {
        "id": "orders-1",
        "kind": Kind.SLOW_BROKER,
        "subject": "brokers-a-0",
        "reason": "produce 200 ms",
        "state": state,
        "words": "why",
        "found_at": NOW - timedelta(minutes=20),
        "changed_at": NOW,
        "notified": state in (State.HEALING, State.WAITING),
    }
    return Anomaly(**{**values, **changes_})  # type: ignore[arg-type]


def looked(
    open_: list[Anomaly], found: list[AnomalyFinding], state: State, *, kinds: set[Kind] | None = None
) -> list[str]:
    made = changes(
        open_,
        found,
        lambda _finding, _since: FindingStatus(state, "words"),
        looked_at=set(Kind) if kinds is None else kinds,
        now=NOW,
    )
    return [f"{c.finding.subject}: {c.anomaly.state if c.anomaly else 'new'} -> {c.status.state}" for c in made]


def test_a_new_finding_is_recorded_with_where_it_stands() -> None:
    assert looked([], [FOUND], State.FOUND) == ["brokers-a-0: new -> found"]


def test_the_same_state_is_no_change_whatever_the_numbers_are() -> None:
    other = AnomalyFinding(Kind.SLOW_BROKER, "brokers-a-0", "produce 300 ms")
    assert looked([an_anomaly()], [other], State.HEALING) == []


def test_a_change_of_state_is_recorded_and_the_end_too() -> None:
    assert looked([an_anomaly(State.FOUND)], [FOUND], State.WAITING) == ["brokers-a-0: found -> waiting"]
    assert looked([an_anomaly()], [], State.FOUND) == ["brokers-a-0: healing -> over"]


def test_what_was_not_looked_at_is_not_over() -> None:
    assert looked([an_anomaly()], [], State.FOUND, kinds=set(Kind) - {Kind.SLOW_BROKER}) == []


def test_one_that_is_over_and_comes_again_is_a_new_one() -> None:
    assert looked([an_anomaly(State.OVER)], [FOUND], State.FOUND) == ["brokers-a-0: new -> found"]


def test_its_grace_counts_from_when_it_was_found() -> None:
    since: list[datetime] = []

    def stands(_finding: AnomalyFinding, at: datetime) -> FindingStatus:
        since.append(at)
        return FindingStatus(State.FOUND, "")

    before = an_anomaly(State.FOUND)
    changes([before], [FOUND, AnomalyFinding(Kind.SLOW_BROKER, "b", "")], stands, looked_at=set(Kind), now=NOW)
    assert set(since) == {before.found_at, NOW}


@pytest.mark.parametrize(
    ("state", "before", "told"),
    [
        (State.FOUND, None, False),
        (State.SUPPRESSED, None, False),
        (State.HEALING, None, True),
        (State.WAITING, an_anomaly(State.FOUND), True),
        (State.OVER, an_anomaly(), True),
        (State.OVER, an_anomaly(State.SUPPRESSED), False),
    ],
)
def test_people_are_told_of_alarms_and_of_their_end(state: State, before: Anomaly | None, told: bool) -> None:
    assert is_notified(state, before) is told


def test_every_kind_has_a_grace_and_words() -> None:
    assert set(GRACE) == set(WORDS) == set(Kind)
