"""The fold of freezes and what is in force: ends by itself, ends by a thaw, and nothing unreadable is taken lightly."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from controlplane.fleet.freezes.fold import LONGEST
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.storage.streams import AGENTS, FREEZES
from events import facts
from events.codec import encode
from events.envelope import Recorded
from planner.rollout.windows import Freeze
from tests.builders import NOW

HOUR = timedelta(hours=1)


def declared(name: str, until: datetime = NOW + HOUR, *, labels: Mapping[str, str] | None = None) -> object:
    return facts.FreezeDeclared(name, until, "winter sale", ("orders",), ("payments",), labels or {})


class Log:
    """A cache and the stream it folds."""

    def __init__(self, *of_settings: Freeze) -> None:
        self.cache, self.version = FreezeCache(of_settings), 0

    def tell(self, fact: object, *, at: datetime = NOW, stream: str = FREEZES) -> bool:
        new = encode(fact, f"e{self.version}")
        return self.raw(new.type, new.schema, new.data, at=at, stream=stream)

    def raw(
        self, kind: str, schema: int, data: Mapping[str, object], *, at: datetime = NOW, stream: str = FREEZES
    ) -> bool:
        self.version += 1
        told = Recorded(
            self.version, stream, self.version, "e", kind, schema, dict(data), "person:anna", None, None, 1, at
        )
        return self.cache.take_in(told)

    def left(self, after: timedelta = timedelta()) -> list[str]:
        return [f.id for f in self.cache.left(NOW + after)]


def test_a_freeze_holds_until_its_end_and_then_ends_by_itself() -> None:
    log = Log()
    assert log.tell(declared("freeze-1"))
    assert log.tell(declared("freeze-2", NOW + 2 * HOUR))
    assert log.left() == ["freeze-1", "freeze-2"]
    assert log.left(HOUR) == ["freeze-2"]
    assert log.left(2 * HOUR) == []


def test_it_names_who_declared_it_and_whom_it_holds() -> None:
    log = Log()
    log.tell(declared("freeze-1", labels={"stage": "production"}))
    (freeze,) = log.cache.left(NOW)
    assert (freeze.by, freeze.reason) == ("anna", "winter sale")
    assert freeze.names("orders", "", {})
    assert freeze.names("invoices", "payments", {})
    assert freeze.names("search", "", {"stage": "production"})
    assert not freeze.names("search", "search", {"stage": "test"})


def test_a_thaw_ends_it_and_only_it() -> None:
    log = Log()
    log.tell(declared("freeze-1"))
    log.tell(declared("freeze-2"))
    log.tell(facts.FreezeThawed("freeze-1", "over"))
    assert log.left() == ["freeze-2"]
    thaw = log.cache.fold().by_id["freeze-1"].thaw
    assert thaw is not None
    assert (thaw.by, thaw.reason) == ("person:anna", "over")


def test_a_thaw_of_what_is_over_or_unknown_changes_nothing() -> None:
    log = Log()
    log.tell(declared("freeze-1"))
    log.tell(facts.FreezeThawed("freeze-9", "over"))
    log.tell(facts.FreezeThawed("freeze-1", "late"), at=NOW + 2 * HOUR)
    assert log.left() == ["freeze-1"]
    assert log.cache.fold().by_id["freeze-1"].thaw is None
    assert log.cache.fold().version == 3


def test_what_cannot_be_read_holds_the_whole_fleet_for_as_long_as_any_freeze_may_and_can_be_thawed() -> None:
    log = Log()
    log.raw("freeze.from_the_future", 1, {})
    log.raw("freeze.declared", 9, {"id": "freeze-2"})
    assert log.left() == ["unreadable-1", "unreadable-2"]
    first = log.cache.left(NOW)[0]
    assert first.names_everything
    assert "freeze.from_the_future) cannot be read by this release" in first.reason
    log.tell(declared("freeze-3"))
    log.tell(facts.FreezeThawed("unreadable-1", "it was none"))
    assert log.left() == ["unreadable-2", "freeze-3"]
    assert log.left(LONGEST) == []


def test_other_streams_and_what_is_known_are_left_alone() -> None:
    log = Log()
    assert not log.tell(facts.AgentRolloutResumed("x"), stream=AGENTS)
    assert log.tell(declared("freeze-1"))
    log.version -= 1
    assert not log.tell(facts.FreezeThawed("freeze-1", "told twice"))
    assert log.left() == ["freeze-1"]


def test_freezes_of_the_settings_stand_beside_those_of_people_until_they_are_over() -> None:
    coming = Freeze(NOW + HOUR, NOW + 2 * HOUR, "audit")
    log = Log(coming)
    log.tell(declared("freeze-1"))
    assert log.left() == ["", "freeze-1"]
    assert log.left(2 * HOUR) == []


def test_while_nothing_begins_or_ends_the_same_answer_is_given_again() -> None:
    log = Log()
    assert log.cache.left(NOW) == ()
    log.tell(declared("freeze-1"))
    assert log.cache.left(NOW) is log.cache.left(NOW + HOUR / 2)
