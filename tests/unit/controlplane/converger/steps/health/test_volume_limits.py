"""Limits of volumes that agents tell: recorded where they are news, once an hour at most, forgotten after a week."""

from datetime import timedelta

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.vms import VolumeLimitView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.volume_limits import with_volume_limits
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_report, a_situation, a_view, an_instance

BROKER = an_instance("brokers-a-0")
VOLUME = BROKER.planned.volumes[0]
MB = 10**6


def situation(limit: float | None, known: VolumeLimitView | None = None) -> Situation:
    told = {"name": VOLUME.dir, "total_bytes": 100, "free_bytes": 50, "partitions": 1, "limit_bytes_per_s": limit}
    view = a_view(volume_limits={VOLUME.key: known} if known else {})
    return a_situation(view, reports={BROKER.key: a_report(BROKER, log_dirs=[told])})


def known(bytes_per_s: int, **ago: float) -> VolumeLimitView:
    return VolumeLimitView(bytes_per_s, NOW - timedelta(**ago))


def found(of: Situation) -> list[int]:
    decision = with_volume_limits(of, Decision("at rest"))
    return [e.bytes_per_s for e in decision.events if isinstance(e, facts.VolumeLimitFound)]


def test_a_limit_nobody_knew_is_recorded_and_counts_from_then_on() -> None:
    of = situation(60.4 * MB)

    decision = decide(of)

    assert decision.events == (facts.VolumeLimitFound(VOLUME.key, 60_400_000),)
    assert decision.sentence == f"what volumes do when they are saturated: {VOLUME.key} 57.6 MiB/s"
    assert after(of.view, *decision.events).vms.volume_limits == {VOLUME.key: VolumeLimitView(60_400_000, NOW)}


@pytest.mark.parametrize(
    ("limit", "of_before", "recorded"),
    [
        (None, None, []),
        (95 * MB, known(100 * MB, hours=2), []),
        (80 * MB, known(100 * MB, hours=2), [80 * MB]),
        (120 * MB, known(100 * MB, hours=2), [120 * MB]),
        (80 * MB, known(100 * MB, minutes=59), []),
        (100 * MB, known(100 * MB, hours=25), [100 * MB]),
        (None, known(100 * MB, days=6), []),
        (None, known(100 * MB, days=8), [0]),
    ],
    ids=[
        "none",
        "as before",
        "less",
        "more",
        "too soon",
        "confirmed each day",
        "not told for days",
        "not told for a week",
    ],
)
def test_what_is_recorded(limit: float | None, of_before: VolumeLimitView | None, recorded: list[int]) -> None:
    assert found(situation(limit, of_before)) == recorded


def test_what_is_forgotten_counts_no_more() -> None:
    view = situation(None, known(100 * MB, days=8)).view
    assert after(view, facts.VolumeLimitFound(VOLUME.key, 0)).vms.volume_limits == {}


def test_a_volume_that_grows_is_another_one() -> None:
    view = situation(None, known(100 * MB, hours=1)).view
    grown = after(view, facts.GrowthRequested("i-9", BROKER.key, {VOLUME.key: 2000}, "full"))
    assert grown.vms.volume_limits == {}


def after(view: ClusterView, *told: object) -> ClusterView:
    for fact in told:
        event, version = encode(fact, "e-1"), view.version + 1
        row = Recorded(version, "c", version, "e-1", event.type, 1, event.data, "converger", None, None, 1, NOW)
        view = evolve(view, row)
    return view
