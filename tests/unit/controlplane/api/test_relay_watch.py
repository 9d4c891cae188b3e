"""What servers tell of a relay that is another process: that there is none, that it stands, what it says itself."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.api.audit.entry import Entry, Outcome
from controlplane.api.audit.holder import WAITS, Holder, Relays, RelayWord
from controlplane.api.audit.watch import STANDS_AFTER, AuditRelayTrouble, RelayWatch, found_by
from tests.fakes.audit import MemoryAuditStore

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Watched:
    """A watch over a relay that is as a test says."""

    holder: Holder | None = None
    waiting: dict[str, int] = field(default_factory=dict)
    now: datetime = NOW
    store: MemoryAuditStore = field(default_factory=MemoryAuditStore)

    where: str = "kedge-audit at 10.0.0.7:9092"

    def __post_init__(self) -> None:
        relays = lambda: Relays(self.holder, self.waiting)  # noqa: E731
        self.watch = RelayWatch(relays, self.store, self.where, lambda: self.now)

    def relay(self, position: int | None, problem: str = "") -> None:
        self.holder = Holder("kedge_relay", False, RelayWord(position, problem))

    def entries(self, count: int) -> None:
        for _ in range(count):
            call = "POST /v1/clusters"
            self.store.append(Entry(NOW, "ada", "session", "", call, "declare", "orders", Outcome.DONE, 200))

    def told(self, **later: float) -> str:
        """ "" where all is well."""
        self.now += timedelta(**later)
        finding = self.watch.finding()
        if finding.well:
            self.watch.poll()
            assert self.watch.note() == finding.told
            return ""
        with pytest.raises(AuditRelayTrouble, match="Nothing is lost"):
            self.watch.poll()
        assert finding.what_next
        assert self.watch.note() == ""
        return finding.told


def test_no_relay_at_work_is_told_with_how_to_start_one() -> None:
    seen = Watched()
    assert seen.told() == "no relay is at work, and nothing of the audit goes to kedge-audit at 10.0.0.7:9092"
    assert "kedge server --only relay" in seen.watch.finding().what_next


def test_a_relay_that_comes_on_is_well_and_says_how_far_it_is() -> None:
    seen = Watched()
    seen.entries(3)
    seen.relay(3)
    assert seen.told() == ""
    assert seen.watch.finding().told == (
        "the relay (role kedge_relay) has written entry 3 of 3 to kedge-audit at 10.0.0.7:9092"
    )
    assert seen.told(days=1) == "", "with nothing to write it may rest for ever"


def test_a_relay_that_is_behind_and_comes_on_is_well_and_one_that_stands_is_told() -> None:
    seen = Watched()
    seen.entries(900)
    for position in (0, 300, 600):
        seen.relay(position)
        assert seen.told(seconds=50) == ""
    assert "written entry 600 of 900" in seen.told(seconds=60)
    assert "has not come on for 120 s" in seen.told(seconds=60)
    seen.relay(900)
    assert seen.told() == ""
    seen.entries(1)
    assert seen.told(seconds=0) == "", "an entry that was written just now"


def test_a_relay_that_never_asked_its_topic_stands_as_well() -> None:
    seen = Watched()
    seen.entries(1)
    seen.relay(None)
    assert seen.told() == ""
    assert "written entry 0 of 1" in seen.told(seconds=STANDS_AFTER.total_seconds())


def test_what_a_relay_says_itself_is_told_at_once() -> None:
    seen = Watched()
    seen.entries(1)
    seen.relay(1, "not sent: _TRANSPORT")
    assert seen.told().endswith("and says: not sent: _TRANSPORT")


@pytest.mark.parametrize(
    "holder",
    [
        Holder("kedge_app", True, None),
        Holder("kedge_portal", True, RelayWord(3)),
        Holder("kedge_relay", False, None),
    ],
    ids=["a server", "a role that may more and says it is one", "a session that says nothing"],
)
def test_whoever_else_has_the_turn_is_no_relay_and_is_named(holder: Holder) -> None:
    seen = Watched(holder)
    seen.entries(3)
    assert seen.told().startswith(f"role {holder.role} has the turn to write to kedge-audit")


def test_relays_that_wait_are_told_by_role_and_are_neither_healthy_nor_unhealthy() -> None:
    seen = Watched(waiting={"kedge_relay": 2, "another": 1})
    waiting = "; relays that wait: 1 of role another, 2 of role kedge_relay"
    assert seen.told() == f"no relay is at work, and nothing of the audit goes to {seen.where}{waiting}"
    seen.relay(0)
    assert seen.told() == ""
    assert (
        seen.watch.finding().told == f"the relay (role kedge_relay) has written entry 0 of 0 to {seen.where}{waiting}"
    )
    seen.waiting = {}
    assert seen.told() == ""
    assert "wait" not in seen.watch.finding().told, "one relay is enough"


def test_where_none_is_to_be_there_the_doctor_says_nothing() -> None:
    assert found_by(None) == ()
    assert [one.what for one in found_by(Watched().watch)] == ["the audit's topic"]


@pytest.mark.parametrize("word", [RelayWord(None), RelayWord(0), RelayWord(41), RelayWord(7, "not sent: _TRANSPORT")])
def test_a_word_is_read_as_it_was_said(word: RelayWord) -> None:
    assert RelayWord.read(word.spelled) == word


def test_a_word_fits_the_name_of_a_session_and_has_nothing_that_steers_a_terminal() -> None:
    long = RelayWord(10**17, "failed: \x1b[2J\nä" + "x" * 100)
    assert len(long.spelled) == 63
    read = RelayWord.read(long.spelled)
    assert read is not None
    assert (read.position, read.problem.startswith("failed: ?[2J??x")) == (10**17, True)


@pytest.mark.parametrize(
    "name", ["", "kedge", "psql", "kedge-relay", "kedge-relay x", "kedge-relay 1x", "kedge-relay -1", WAITS]
)
def test_other_names_are_no_word(name: str) -> None:
    assert RelayWord.read(name) is None
