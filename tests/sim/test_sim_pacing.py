"""Traffic while a drain copies: plans know its write rates, throttles follow it, a new server finds what is set."""

from collections.abc import Callable

from events.codec import decode
from events.facts import DrainPlanned
from planner.drain.plan import DrainPlan
from tests.builders import a_document
from tests.sim.world import World

MB = 10**6


def _rolling(world: World, *, bytes_per_s: Callable[[float], int] = lambda _: 0, topic_bytes: int = 400 * MB) -> None:
    """A roll of three brokers, with this much written to `orders` each second from before it begins."""
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=topic_bytes)
    for _ in range(12):
        _write(world, bytes_per_s)
        world.tick()
    world.declare(a_document(version="4.2.0"))


def _write(world: World, bytes_per_s: Callable[[float], int]) -> None:
    records = bytes_per_s(world.seconds) // 1000
    if records:
        world.kafka.write("orders", records)


def _until_converged(world: World, *, bytes_per_s: Callable[[float], int] = lambda _: 0, ticks: int = 700) -> list[str]:
    """What was said of each drain that copied."""
    said: list[str] = []
    for _ in range(ticks):
        if world.is_converged():
            return said
        _write(world, bytes_per_s)
        world.tick()
        said.append(world.sentence())
    raise AssertionError(f"not converged: {world.sentence()}")


def _plans(world: World) -> list[DrainPlan]:
    events = [decode(e) for e in world.history() if e.type == "drain.planned"]
    bodies = [world.plans.get(e.plan_sha256) for e in events if isinstance(e, DrainPlanned)]
    return [DrainPlan.from_bytes(body) for body in bodies if body is not None]


def _told_of_writes(plan: DrainPlan) -> list[str]:
    return [line for line in plan.certificate.assumptions if line.startswith("write rate of")]


def test_plans_know_what_is_written_and_say_how() -> None:
    world = World()
    _rolling(world, bytes_per_s=lambda _: 6 * MB)
    _until_converged(world, bytes_per_s=lambda _: 6 * MB)
    for plan in _plans(world):
        (line,) = _told_of_writes(plan)
        assert line.startswith("write rate of 6 of 6 moved partitions known: growth of the leaders' logs over ")
        assert max(p.floor_bytes_per_s for p in plan.out.values()) > 3 * MB, "the charge is in the floor"


def _burst(seconds: float) -> int:
    """6 MB/s, and for half a minute, in the first drain's middle, sixty."""
    return 60 * MB if 50 <= seconds < 80 else 6 * MB


def test_traffic_that_rises_in_mid_drain_is_made_room_for_until_it_falls() -> None:
    world = World()
    _rolling(world, bytes_per_s=_burst, topic_bytes=900 * MB)
    said = _until_converged(world, bytes_per_s=_burst)
    corrected = [s for s in said if "rate out of broker" in s or "rate into broker" in s]
    assert ["leaves copies" in s for s in corrected] == sorted(["leaves copies" in s for s in corrected], reverse=True)
    assert "leaves copies" in corrected[0]
    assert "leaves copies" not in corrected[-1], "given back"
    copying = [s for s in said if " moves done, " in s]
    assert len(corrected) < len(copying) / 5, "a throttle is not rewritten every tick"


def test_a_server_that_takes_over_in_mid_drain_leaves_the_throttles_it_finds() -> None:
    world = World()
    _rolling(world, bytes_per_s=_burst, topic_bytes=900 * MB)
    while world.seconds < 78:
        _write(world, _burst)
        world.tick()
    before = world.kafka.snapshot().throttles
    (plan,) = _plans(world)
    assert before.follower_rate != plan.follower_throttle, "corrected by now"
    world.start_server()
    for _ in range(4):
        _write(world, _burst)
        world.tick()
        now = world.kafka.snapshot().throttles
        assert (now.leader_rate, now.follower_rate) == (before.leader_rate, before.follower_rate)
    _until_converged(world, bytes_per_s=_burst)


def test_a_cluster_nobody_writes_to_is_known_to_be_idle() -> None:
    world = World()
    _rolling(world)
    said = _until_converged(world)
    assert not [s for s in said if "rate out of" in s or "rate into" in s]
    assert all("6 of 6 moved partitions known" in _told_of_writes(p)[0] for p in _plans(world))
