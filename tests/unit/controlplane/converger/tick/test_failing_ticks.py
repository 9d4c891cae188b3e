"""Ticks that fail again and again are a condition of their cluster, whatever makes them: told once, over by itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.roll import RollView
from controlplane.converger.conditions.converged import converged, with_converged
from controlplane.converger.conditions.ticks import TickFailures, tick_failing, tick_works, words_of
from controlplane.converger.tick.failing_ticks import FailingTicks
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.streams import cluster_stream
from events import facts
from events.codec import decode
from events.envelope import NewEvent, Origin
from events.errors import StoreUnavailable
from events.ids import ClusterUid
from providers.errors import CloudUnavailable
from tests.builders import NOW, a_document, an_inventory
from tests.changed_view import changed_view
from tests.unit.controlplane.converger.tick.test_converger_fleet import BAD, GOOD, RESTS, Fleet, _raises, _said

LATER = NOW + timedelta(seconds=31)
VIEW = ClusterView(uid=ClusterUid("u"), name="orders", generation=3, roll=RollView(converged=3), document=a_document())


def failures(*errors: Exception) -> TickFailures:
    found = TickFailures(NOW)
    for error in errors:
        found = found.and_another(error, "deciding what to do")
    return found


def with_service_start(reason: str, *, status: bool = True) -> ClusterView:
    return replace(VIEW, conditions={"TickFailing": ConditionView(status, reason, "told before", NOW)})


BUG = ValueError("invalid literal for int() with base 10: 'producer'")
THREE = failures(BUG, BUG, BUG)


# --- the condition ----------------------------------------------------------------------------------------------------


def test_a_moment_s_trouble_is_not_told() -> None:
    assert tick_failing(VIEW, failures(BUG, BUG), LATER) is None
    assert tick_failing(VIEW, THREE, NOW + timedelta(seconds=29)) is None
    assert tick_failing(changed_view(VIEW, deleted=True), THREE, LATER) is None


def test_it_says_what_fails_since_when_while_doing_what_and_what_next() -> None:
    told = tick_failing(VIEW, THREE, LATER)
    assert told is not None
    assert (told.type, told.status, told.reason) == ("TickFailing", True, "Unexpected")
    assert told.message == (
        f"each tick fails since {NOW:%Y-%m-%d %H:%M:%S} UTC, 3 in a row, the last one while deciding what to do: "
        "ValueError: invalid literal for int() with base 10: 'producer'. Nothing else is done for this cluster until "
        "one succeeds; it is tried every half minute. Next: kedge events orders"
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KafkaUnavailable(what="setting", where="orders", why="no route"), "KafkaFailed"),
        (CloudUnavailable("not today"), "CloudFailed"),
        (StoreUnavailable("locked"), "StoreFailed"),
        (BUG, "Unexpected"),
    ],
    ids=["KafkaFailed", "CloudFailed", "StoreFailed", "Unexpected"],
)
def test_its_reason_is_the_kind_of_the_error(error: Exception, reason: str) -> None:
    told = tick_failing(VIEW, failures(error, error, error), LATER)
    assert told is not None
    assert told.reason == reason
    assert str(error) in told.message


def test_other_words_of_the_same_kind_are_no_change() -> None:
    other = failures(*(ValueError(f"word {n}") for n in range(9)))
    assert tick_failing(with_service_start("Unexpected"), other, LATER) is None


def test_another_kind_is_a_change_once_it_lasts() -> None:
    """Two kinds that take turns are not an event each time."""
    away = StoreUnavailable("locked")
    turns = failures(BUG, away, BUG, away, BUG, away)
    assert tick_failing(with_service_start("Unexpected"), turns, LATER) is None
    lasting = tick_failing(with_service_start("Unexpected"), failures(BUG, away, away, away), LATER)
    assert lasting is not None
    assert lasting.reason == "StoreFailed"


def test_it_is_over_with_a_tick_that_succeeds_and_only_where_it_stood() -> None:
    assert tick_works(VIEW) is None
    assert tick_works(with_service_start("Free", status=False)) is None
    assert tick_works(with_service_start("Unexpected")) == facts.ConditionChanged("TickFailing", False, "Free", "")


def test_what_it_says_is_one_line_of_bounded_length_and_never_a_bare_name() -> None:
    assert words_of(KeyError("brokers-a-0"), "Unexpected") == "KeyError: 'brokers-a-0'"
    assert words_of(ValueError(), "Unexpected") == "ValueError"
    long = words_of(ValueError("a\nb " * 500), "Unexpected")
    assert len(long) == 400
    assert "\n" not in long


def test_a_cluster_is_not_converged_while_its_ticks_fail_or_its_history_cannot_be_read() -> None:
    assert converged(VIEW).status
    assert (converged(with_service_start("Unexpected")).status, converged(with_service_start("Unexpected")).reason) == (
        False,
        "TickFailing",
    )
    unread = converged(changed_view(VIEW, unreadable="event 5"))
    assert (unread.status, unread.reason) == (False, "HistoryUnreadable")
    works = facts.ConditionChanged("TickFailing", False, "Free", "")
    assert [(c.type, c.status) for c in with_converged(with_service_start("Unexpected"), works)] == [
        ("TickFailing", False),
        ("Converged", True),
    ]


def test_failures_are_counted_in_a_row_and_rest_longer_and_longer() -> None:
    failing = FailingTicks()
    pauses = [failing.failed(BAD, BUG, "looking at it", NOW)[1] for _ in range(7)]
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert failing.rests(BAD, NOW + timedelta(seconds=29))
    assert not failing.rests(BAD, NOW + timedelta(seconds=30))
    assert [(p.uid, p.failures) for p in failing.poisoned()] == [(BAD, 7)]
    failing.succeeded(BAD)
    assert failing.poisoned() == []


# --- the loop ---------------------------------------------------------------------------------------------------------


def _pass_time(fleet: Fleet, seconds: int) -> int:
    """Ticks once a second. Returns how many events were recorded."""
    before = fleet.store.head()
    for _ in range(seconds):
        fleet.tick()
        fleet.now += timedelta(seconds=1)
    return fleet.store.head() - before


def _conditions(fleet: Fleet, uid: ClusterUid) -> dict[str, tuple[bool, str]]:
    view = fleet.converger.view(uid)
    assert view is not None
    return {t: (c.status, c.reason) for t, c in view.conditions.items() if t in ("TickFailing", "Converged")}


FAILS = {"TickFailing": (True, "Unexpected"), "Converged": (False, "TickFailing")}
WORKS = {"TickFailing": (False, "Free"), "Converged": (True, "Reached")}


def test_a_cluster_whose_ticks_fail_says_so_once_and_others_go_on() -> None:
    fleet, queries = Fleet(BAD, GOOD), iter(range(10_000))

    def breaks() -> Any:
        raise ValueError(f"word {next(queries)}")

    fleet.inventories[BAD] = breaks
    assert _pass_time(fleet, 30) == 0, "one that comes back within half a minute is not told of"
    assert _pass_time(fleet, 900) == 2
    assert _conditions(fleet, BAD) == FAILS
    assert _conditions(fleet, GOOD) == {"Converged": (True, "Reached")}
    assert _said(fleet, GOOD) == RESTS
    fleet.inventories.clear()
    assert _pass_time(fleet, 60) == 2
    assert _conditions(fleet, BAD) == WORKS
    assert _pass_time(fleet, 60) == 0


def test_it_is_told_where_the_decision_itself_is_what_fails() -> None:
    fleet = Fleet(BAD)
    none_at_all: Any = None
    view = lambda: fleet.converger.view(BAD)  # noqa: E731
    fleet.inventories[BAD] = lambda: replace(an_inventory(view(), at=fleet.now), instances=none_at_all)
    assert _pass_time(fleet, 120) == 2
    assert _conditions(fleet, BAD) == FAILS
    told = view()
    assert told is not None
    assert "while deciding what to do" in told.conditions["TickFailing"].message


def test_it_is_told_once_where_decisions_succeed_and_acts_fail() -> None:
    """A decision knows of no failure: it leaves both conditions as they are, and no two events alternate for ever."""
    fleet = Fleet(BAD)
    fleet.converger.catch_up()
    fleet.declare(BAD)
    fleet.run_error = RuntimeError("cannot fork")
    _pass_time(fleet, 60)
    assert _conditions(fleet, BAD) == FAILS
    assert _pass_time(fleet, 600) == 0
    view = fleet.converger.view(BAD)
    assert view is not None
    assert "while carrying out StartRun: RuntimeError: cannot fork" in view.conditions["TickFailing"].message
    fleet.run_error = None
    _pass_time(fleet, 40)
    assert _conditions(fleet, BAD) == {"TickFailing": (False, "Free"), "Converged": (False, "Working")}


def test_it_stands_until_a_tick_of_the_next_server_succeeds() -> None:
    fleet = Fleet(BAD)
    fleet.inventories[BAD] = _raises(ZeroDivisionError("a bug"))
    _pass_time(fleet, 60)
    fleet.next_server()
    assert _pass_time(fleet, 60) == 0
    assert _conditions(fleet, BAD) == FAILS
    fleet.inventories.clear()
    _pass_time(fleet, 60)
    assert _conditions(fleet, BAD) == WORKS


def test_what_cannot_be_recorded_is_told_by_the_loop_and_recorded_later() -> None:
    fleet = Fleet(BAD, GOOD)
    fleet.inventories[BAD] = _raises(ZeroDivisionError("a bug"))
    fleet.store.full = True
    assert _pass_time(fleet, 120) == 0
    assert [(p.uid, p.error) for p in fleet.converger.poisoned()] == [(BAD, "ZeroDivisionError: a bug")]
    assert _said(fleet, GOOD) == RESTS
    fleet.store.full = False
    assert _pass_time(fleet, 60) == 2
    assert _conditions(fleet, BAD) == FAILS


def test_an_event_that_no_rule_was_written_for_freezes_its_cluster_and_is_told_once() -> None:
    """Whatever a rule raises over it: the fleet is folded on, and a condition that cannot be folded is not recorded at
    every tick anew."""
    fleet = Fleet(BAD, GOOD)
    fleet.converger.catch_up()
    view = fleet.converger.view(BAD)
    assert view is not None
    odd = NewEvent("odd", "cluster.declared", 1, {**_declared(fleet), "document": {"apiVersion": "kedge/v1alpha1"}})
    fleet.store.append(cluster_stream(BAD), [odd], expected_version=view.version, origin=Origin("t"))
    assert _pass_time(fleet, 120) == 2
    view = fleet.converger.view(BAD)
    assert view is not None
    assert view.history.unreadable
    assert {t: c.reason for t, c in view.conditions.items() if t in ("Blocked", "Converged")} == {
        "Blocked": "HistoryUnreadable",
        "Converged": "HistoryUnreadable",
    }
    assert _said(fleet, GOOD) == RESTS


def test_a_fold_never_raises() -> None:
    """The log holds what any release wrote; a value of another type is a reason, not the end of the loop."""
    fleet = Fleet(BAD)
    fleet.converger.catch_up()
    view = fleet.converger.view(BAD)
    assert view is not None
    recorded = fleet.store.read_stream(cluster_stream(BAD))[-1]
    raises: Any = 5
    broken = replace(view, conditions=raises)
    told = facts.ConditionChanged("Blocked", True, "Any", "")
    assert isinstance(decode(recorded), facts.ConditionChanged), told
    after = evolve(broken, replace(recorded, version=view.version + 1))
    assert after.history.unreadable.startswith(f"event {view.version + 1} (condition.changed): TypeError")


def _declared(fleet: Fleet) -> dict[str, Any]:
    first = fleet.store.read_stream(cluster_stream(BAD))[0]
    return dict(first.data)
