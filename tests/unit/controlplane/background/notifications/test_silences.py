"""A freeze that silences: notices of what is not critical wait for its end; what is over by then is never told."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.outbox import WaitingNotice
from controlplane.background.notifications.post import NoticeSender
from controlplane.background.notifications.silences import silences
from controlplane.fleet.freezes.state import FreezeCache
from events import facts
from planner.rollout.windows import Freeze
from tests.builders import NOW, a_view
from tests.fakes.outbox import MemoryOutbox
from tests.unit.controlplane.fleet.freezes.test_freeze_fold import Log

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOTICE = Notice("e", "orders", "orders-1", "slow-broker", "b", "waiting", "why", "words", NOW, NOW)


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def tell(self, notices: Sequence[Notice]) -> None:
        self.heard += [f"{n.anomaly} {n.state}" for n in notices]

    def close(self) -> None:
        """Nothing is held."""


class Fleet:
    """One cluster, `orders` of team-a with the label stage=production."""

    def __init__(self) -> None:
        view = a_view()
        assert view.document is not None
        metadata = view.document.metadata.model_copy(
            update={"name": "orders", "owner": "team-a", "labels": {"stage": "production"}}
        )
        self.view = replace(view, name="orders", document=view.document.model_copy(update={"metadata": metadata}))

    def views(self) -> list[object]:
        return [self.view]


class Scene:
    def __init__(self, freezes: FreezeCache, *, group_s: int = 0) -> None:
        self.now, self.ear, self.outbox, self.position = NOW, Ear(), MemoryOutbox(), 0
        fleet = Fleet()
        self.outbox.begin("oncall", 0)
        binding = NotifierBinding(name="oncall", kind="log", group_s=group_s)
        self.sender = NoticeSender(
            binding, self.ear, self.outbox, lambda: self.now, lambda: silences(freezes, fleet)  # type: ignore[arg-type]
        )  # fmt: skip

    def found(
        self, anomaly: str, state: str = "waiting", *, severity: str = "warning", cluster: str = "orders"
    ) -> None:
        self.position += 1
        notice = replace(NOTICE, anomaly=anomaly, state=state, severity=severity, at=self.now, cluster=cluster)
        notice = replace(notice, owner="team-a" if cluster == "orders" else "")
        self.outbox.keep("oncall", self.position, [WaitingNotice(self.position, notice)])
        self.sender.poll()

    def after(self, span: timedelta) -> None:
        self.now += span
        self.sender.poll()


def silent(until: datetime = NOW + HOUR, **named: object) -> FreezeCache:
    whom = {"clusters": ("orders",), "teams": (), "labels": {}, **named}
    log = Log()
    log.tell(facts.FreezeDeclared("freeze-1", until, "load test", **whom, silence=True))  # type: ignore[arg-type]
    return log.cache


def test_what_is_not_critical_waits_until_the_freeze_ends() -> None:
    scene = Scene(silent())
    scene.found("orders-1")
    scene.found("orders-2", severity="critical")
    scene.found("payments-1", cluster="payments")
    assert scene.ear.heard == ["orders-2 waiting", "payments-1 waiting"]
    scene.after(HOUR - MINUTE)
    assert "orders-1 waiting" not in scene.ear.heard
    scene.after(MINUTE)
    assert scene.ear.heard[-1] == "orders-1 waiting"
    assert scene.outbox.statuses()["oncall"].waiting == 0


def test_what_began_and_ended_meanwhile_is_never_told() -> None:
    scene = Scene(silent())
    scene.found("orders-1")
    scene.after(MINUTE)
    scene.found("orders-1", "over")
    scene.after(2 * HOUR)
    assert scene.ear.heard == []
    assert scene.outbox.statuses()["oncall"].waiting == 0


def test_the_end_of_what_was_told_before_is_told_after_it() -> None:
    log = Log()
    scene = Scene(log.cache)
    scene.found("orders-1")
    log.tell(facts.FreezeDeclared("freeze-1", NOW + HOUR, "load test", ("orders",), (), {}, silence=True))
    scene.found("orders-1", "over")
    assert scene.ear.heard == ["orders-1 waiting"]
    scene.after(HOUR)
    assert scene.ear.heard == ["orders-1 waiting", "orders-1 over"]


def test_a_thaw_ends_the_silence() -> None:
    log = Log()
    log.tell(facts.FreezeDeclared("freeze-1", NOW + HOUR, "load test", ("orders",), (), {}, silence=True))
    scene = Scene(log.cache)
    scene.found("orders-1")
    log.tell(facts.FreezeThawed("freeze-1", "done"), at=NOW + MINUTE)
    scene.after(MINUTE)
    assert scene.ear.heard == ["orders-1 waiting"]


def test_owners_labels_and_freezes_of_the_settings_silence_too_and_a_plain_freeze_does_not() -> None:
    of_settings = Freeze(NOW, NOW + HOUR, "year's end", silence=True)
    for freezes, is_silent in [
        (silent(clusters=(), teams=("team-a",)), True),
        (silent(clusters=(), labels={"stage": "production"}), True),
        (silent(clusters=(), labels={"stage": "test"}), False),
        (FreezeCache((of_settings,)), True),
        (FreezeCache((replace(of_settings, silence=False),)), False),
    ]:
        scene = Scene(freezes)
        scene.found("orders-1")
        assert (scene.ear.heard == []) is is_silent


def test_an_event_that_cannot_be_read_and_may_be_a_freeze_silences_nothing() -> None:
    log = Log()
    log.raw("freeze.pondered", 1, {})
    assert log.left(), "it holds work back"
    scene = Scene(log.cache)
    scene.found("orders-1")
    assert scene.ear.heard == ["orders-1 waiting"]
