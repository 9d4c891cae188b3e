"""Who is asked next: one VM first, a soak, then stage after stage, one VM in a cluster at a time."""

from datetime import timedelta

from controlplane.background.agent_upgrades.order import ReleaseProgress, UpgradeOrders, UpgradingCluster, next_asks
from tests.builders import BEFORE, NOW

SOAK = timedelta(seconds=60)
LONG_AGO = NOW - timedelta(hours=1)
STAGING, PRODUCTION = 2, 4


def asked(
    *members: UpgradingCluster, done: dict[int, tuple] | None = None, failed: tuple[str, ...] = (), at_once: int = 2
) -> UpgradeOrders:  # type: ignore[type-arg]
    return next_asks(members, ReleaseProgress(done or {}, failed), NOW, soak=SOAK, at_once=at_once)


def behind(name: str, stage: int = PRODUCTION, **changes: object) -> UpgradingCluster:
    return UpgradingCluster(name, name, stage, **{"behind": (f"{name}-a", f"{name}-b"), **changes})  # type: ignore[arg-type]


def test_the_very_first_is_one_vm_of_the_earliest_stage() -> None:
    assert asked(behind("shop"), behind("stage", STAGING), behind("test", STAGING)).asks == {"stage": "stage-a"}


def test_nobody_else_is_asked_while_the_first_is_in_hand_or_soaks() -> None:
    one = asked(behind("stage", STAGING, in_hand=("stage-a",)), behind("shop"))
    assert (one.asks, one.waits) == ({}, "the first VM, stage-a of stage (staging), is being upgraded")
    soaking = asked(behind("stage", STAGING), done={STAGING: (NOW - timedelta(seconds=20),)})
    assert (soaking.asks, soaking.waits) == ({}, "the first VM soaks 40 s more")


def test_one_vm_in_a_cluster_and_no_more_clusters_at_once_than_allowed() -> None:
    members = [behind("a", in_hand=("a-c",)), behind("b"), behind("c"), behind("d")]
    assert asked(*members, done={PRODUCTION: (LONG_AGO,)}).asks == {"b": "b-a"}
    assert asked(*members, done={PRODUCTION: (LONG_AGO,)}, at_once=3).asks == {"b": "b-a", "c": "c-a"}
    assert asked(*members, done={PRODUCTION: (LONG_AGO,)}, at_once=1).waits == "a-c of a (production) is being upgraded"


def test_a_stage_begins_once_the_ones_before_have_soaked() -> None:
    fresh = {STAGING: (LONG_AGO, NOW - timedelta(seconds=50))}
    assert asked(behind("shop"), done=fresh).waits == "the stages before production soak 10 s more"
    assert asked(behind("shop"), done={STAGING: (LONG_AGO,)}).asks == {"shop": "shop-a"}


def test_who_cannot_be_asked_keeps_later_stages_waiting_and_not_its_own() -> None:
    held = behind("stage", STAGING, blocked="it is paused: lunch")
    waiting = asked(held, behind("shop"), done={STAGING: (LONG_AGO,)})
    assert (waiting.asks, waiting.waits) == ({}, "stage (staging) waits: it is paused: lunch")
    assert asked(held, behind("test", STAGING), done={STAGING: (LONG_AGO,)}).asks == {"test": "test-a"}


def test_a_failure_pauses_everybody() -> None:
    told = asked(behind("shop"), done={STAGING: (BEFORE,)}, failed=("x of stage: it crashed",))
    assert (told.asks, told.waits) == (
        {},
        "paused: x of stage: it crashed. Next: kedge agents resume, or withdraw",
    )


def test_with_nobody_behind_there_is_nothing_to_say() -> None:
    assert asked() == UpgradeOrders({})
