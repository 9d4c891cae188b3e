"""The stories of certificates that live: a simulated year, windows and a freeze, a server that was away for months, and
a CA that is replaced, phase by phase, there and back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.questions.running.certificates import MOST_ROUNDS
from events import facts
from events.certificate_facts import AuthorityPhaseName
from planner.rollout.windows import Freeze
from tests.builders import a_tls_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.certificates import SimCertificates
from tests.sim.world import BEGAN, World

DAY_S = 86_400.0
THURSDAYS = ", windows: [{days: [thu], start: '03:00', duration: 2h, zone: Europe/Zurich}]"


def _born(world: World, **spec: object) -> SimCertificates:
    world.machines.certificates = held = SimCertificates(
        world.store, world.view, world.clock, lambda: world.epoch, world.dies
    )
    world.declare(a_tls_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    return held


def _sleep_until(world: World, day: float) -> None:
    """Nothing happens until that day: the clock is put forward."""
    assert world.seconds < day * DAY_S
    world.seconds = day * DAY_S
    world.kafka.advance(0.0)
    world.calm.since_tick = world.ticks


def _watch(world: World, ticks: int = 20) -> None:
    for _ in range(ticks):
        world.tick()


def _asked(world: World) -> list[dict[str, object]]:
    return [dict(r.data) for r in world.history() if r.type == "certificate.restart_requested"]


def _days(world: World, kind: str) -> list[float]:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return [(r.recorded_at - began) / timedelta(days=1) for r in world.history() if r.type == kind]


def _starts(world: World) -> set[int]:
    return {i.start.count for i in world.view().alive()}


def certificates_over_a_year(world: World) -> None:
    """Each service is started anew once in a round of all, well before its certificate ends, and again in the next
    year. Nothing is told to anybody."""
    held = _born(world)
    for round_, day in ((2, 244), (3, 244 + 244)):
        _sleep_until(world, day - 2)
        _watch(world)
        assert len(_asked(world)) == round_ - 2
        _sleep_until(world, day)
        world.converge(ticks=120)
        assert _starts(world) == {round_}
        assert len({serial for _, serial in held.starts}) == 6 * round_
    assert [asked["at_once"] for asked in _asked(world)] == [False, False]
    assert "CertificateEnding" not in world.view().conditions
    assert not held.over(world.clock())


def certificates_wait_for_a_window(world: World) -> None:
    """They are due on a Tuesday, and are renewed on Thursday."""
    _born(world, windows=THURSDAYS)
    _sleep_until(world, 243.5)
    _watch(world)
    assert _starts(world) == {1}
    assert world.view().conditions["WaitsForWindow"].status
    _sleep_until(world, 245 + 1.1 / 24)
    world.converge(ticks=120)
    assert _starts(world) == {2}


def certificates_do_not_end_in_a_freeze(world: World) -> None:
    """A freeze of half a year ends for nobody, but certificates do: a month before their end they are renewed in it."""
    half_a_year = Freeze(BEGAN + timedelta(days=1), BEGAN + timedelta(days=400), "no changes")
    world.freezes = (half_a_year,)
    world.start_server()
    held = _born(world)
    _sleep_until(world, 250)
    _watch(world)
    assert _starts(world) == {1}
    _sleep_until(world, 280)
    _watch(world)
    assert world.view().conditions["CertificateEnding"].reason == "Ending"
    _sleep_until(world, 335)
    world.converge(ticks=120)
    assert _starts(world) == {2}
    assert [asked["at_once"] for asked in _asked(world)] == [False, True]
    assert not held.over(world.clock())
    assert not world.view().conditions["CertificateEnding"].status


def control_plane_is_away_for_months(world: World) -> None:
    """What is started meanwhile starts with what it has. Back, it is asked for at once."""
    held = _born(world)
    held.is_away = True
    _sleep_until(world, 200)
    key = "brokers-b-0.g1"
    world.machines.stop_process(key)
    _watch(world)
    assert [who for who, _ in held.starts].count(key) == 2
    assert len({serial for who, serial in held.starts if who == key}) == 1
    _sleep_until(world, 340)
    held.is_away = False
    world.converge(ticks=120)
    assert _starts(world) == {2}
    assert [asked["at_once"] for asked in _asked(world)] == [True]
    assert not held.over(world.clock())


def certificates_do_not_come_beside_a_roll(world: World) -> None:
    """A version that is rolled makes new VMs, with new certificates: nobody is started anew for his."""
    _born(world)
    _sleep_until(world, 243)
    world.declare(a_tls_document(version="4.2.0"))
    world.run(until=lambda w: w.view().roll.recycling == 2, ticks=30)
    _sleep_until(world, 244)
    world.converge(ticks=900)
    assert not _asked(world)
    assert "restart.requested" not in {r.type for r in world.history()}


def certificates_end_in_a_pause_and_it_says_so(world: World) -> None:
    """Nothing goes past a person's pause: long before the end it is said that it holds them, and how it ends."""
    held = _born(world)
    world.person(facts.ClusterPaused("no changes", None))
    _sleep_until(world, 280)
    _watch(world)
    ending = world.view().conditions["CertificateEnding"]
    assert (ending.status, ending.reason) == (True, "Ending")
    assert ending.message.endswith("Next: kedge resume orders")
    _sleep_until(world, 336)
    _watch(world)
    ending = world.view().conditions["CertificateEnding"]
    assert (ending.reason, _starts(world)) == ("Held", {1})
    assert "Nothing is started anew for them: the cluster is paused: no changes" in ending.message
    world.person(facts.ClusterResumed("enough"))
    world.converge(ticks=200)
    assert _starts(world) == {2}
    assert not held.over(world.clock())
    assert not world.view().conditions["CertificateEnding"].status


def certificates_end_in_a_drain_of_months_and_it_says_so(world: World) -> None:
    """A broker whose partitions move may not stop, so nobody is started anew beside a drain. A month before it is a
    matter of now, and once the drain ends they come before the next node of the roll."""
    held = _born(world)
    _sleep_until(world, 1)
    slow, world.kafka.link_bytes_per_s = world.kafka.link_bytes_per_s, 1e-9
    world.declare(a_tls_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=60)
    _watch(world)
    _sleep_until(world, 336)
    _watch(world)
    ending = world.view().conditions["CertificateEnding"]
    assert (ending.reason, _starts(world)) == ("Held", {1})
    assert "the drain of 1000 is in hand since 2026-01-02, and goes first" in ending.message
    world.kafka.link_bytes_per_s = slow
    world.run(until=lambda w: bool(_asked(w)), ticks=400)
    before = len([r for r in world.history() if r.type == "drain.requested"])
    world.run(until=lambda w: w.view().requests.rolling_restart is None, ticks=400)
    assert [asked["at_once"] for asked in _asked(world)] == [True]
    assert len([r for r in world.history() if r.type == "drain.requested"]) == before
    world.converge(ticks=2000)
    assert not held.over(world.clock())


def _phase(world: World, phase: AuthorityPhaseName) -> None:
    world.person(facts.AuthorityPhaseRequested("ca-1", phase, "asked by anna"))


def _ask(world: World, kind: str = "cluster") -> None:
    world.person(facts.AuthorityReplaceRequested("ca-1", kind, "asked by anna: its key has leaked"))  # type: ignore[arg-type]


def _reached(world: World) -> list[str]:
    return [str(r.data["phase"]) for r in world.history() if r.type == "ca.phase_reached"]


def cluster_ca_is_replaced(world: World) -> None:
    """Three rounds of restarts. Between the first and the second one a person says that clients believe both."""
    held = _born(world)
    old = world.view().vms.authorities
    assert old is not None
    _ask(world)
    world.converge(ticks=200)
    assert _reached(world) == ["trust-both"]
    assert world.view().conditions["CaReplacement"].reason == "AwaitsClients"
    assert {len(one.believes) for one in held.held.values()} == {2}
    assert not held.authorities.removed
    _phase(world, "reissue")
    world.converge(ticks=400)
    assert _reached(world) == ["trust-both", "reissue", "new-alone"]
    assert _starts(world) == {4}
    assert {len(one.believes) for one in held.held.values()} == {1}
    now = world.view().vms.authorities
    assert now is not None
    assert (now.cluster != old.cluster, now.clients == old.clients) == (True, True)
    assert held.authorities.removed == {old.cluster}
    assert not world.view().conditions["CaReplacement"].status


def cluster_ca_replacement_goes_back(world: World) -> None:
    """From the second phase to the first, and from there to the CA that was there before. The new key is gone then."""
    held = _born(world)
    old = world.view().vms.authorities
    _ask(world)
    world.converge(ticks=200)
    _phase(world, "reissue")
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=60)
    _phase(world, "trust-both")
    world.converge(ticks=400)
    _phase(world, "old-alone")
    world.converge(ticks=200)
    assert _reached(world) == ["trust-both", "trust-both", "old-alone"]
    assert (world.view().vms.authorities, world.view().vms.authority_change) == (old, None)
    assert {len(one.believes) for one in held.held.values()} == {1}
    assert len(held.authorities.removed) == 1


def clients_ca_is_replaced(world: World) -> None:
    """Brokers alone are started anew, twice; between that people give their users other certificates."""
    _born(world)
    _ask(world, "clients")
    world.converge(ticks=200)
    _phase(world, "reissue")
    _watch(world)
    assert world.view().conditions["CaReplacement"].reason == "AwaitsUsers"
    _phase(world, "new-alone")
    world.converge(ticks=200)
    assert _reached(world) == ["trust-both", "reissue", "new-alone"]
    starts = {i.key: i.start.count for i in world.view().alive()}
    assert {starts[i.key] for i in world.view().brokers()} == {3}
    assert {starts[i.key] for i in world.view().controllers()} == {1}


def newcomer_is_born_at_the_phase(world: World) -> None:
    """A roll between two phases: new VMs believe both from their first start on, and are started anew for none."""
    held = _born(world)
    _ask(world)
    world.converge(ticks=200)
    world.declare(a_tls_document(version="4.2.0"))
    world.converge(ticks=900)
    assert {len(held.held[i.key].believes) for i in world.view().alive()} == {2}
    assert len(_asked(world)) == 1
    _phase(world, "reissue")
    world.converge(ticks=400)
    assert world.view().vms.authority_change is None


def revoked_node_is_replaced(world: World) -> None:
    """What it had is on its next VM, and nothing was taken from it. Its own VM stays until the cloud says that it is
    off; then the cluster CA is replaced."""
    held = _born(world)
    stolen = "brokers-b-0.g1"
    world.person(facts.CertificatesRevoked(stolen, "asked by anna: stolen"))
    world.machines.vms[stolen].deaf = True
    world.run(until=lambda w: w.view().instances[stolen].phase is Phase.FENCING, ticks=900)
    _watch(world, 30)
    assert world.view().instances[stolen].phase is Phase.FENCING
    assert stolen in world.machines.vms
    assert "power its VM off in the cloud" in world.sentence()
    world.machines.power_cut(stolen)
    world.converge(ticks=900)
    assert stolen not in {i.key for i in world.view().alive()}
    _ask(world)
    world.converge(ticks=400)
    assert _reached(world) == ["trust-both"]
    assert stolen not in {key for one in _asked(world) for key in one["keys"]}  # type: ignore[attr-defined]
    assert not held.over(world.clock())


def revoked_and_its_ca_replaced_at_once(world: World) -> None:
    """Both in one append: the phase waits for the VM nobody hears, which is asked to start anew by nothing."""
    _born(world)
    stolen = "brokers-b-0.g1"
    world.person(facts.CertificatesRevoked(stolen, "asked by anna: stolen"))
    _ask(world)
    world.machines.vms[stolen].deaf = True
    world.run(until=lambda w: w.view().instances[stolen].phase is Phase.FENCING, ticks=900)
    assert not _reached(world)
    world.machines.power_cut(stolen)
    world.converge(ticks=900)
    assert _reached(world) == ["trust-both"]
    assert stolen not in {key for one in _asked(world) for key in one["keys"]}  # type: ignore[attr-defined]


def phase_waits_for_a_word_of_each_agent(world: World) -> None:
    """Of one that says nothing of certificates nobody knows what it believes: the phase is not reached."""
    held = _born(world)
    held.mute.add("brokers-b-0.g1")
    _ask(world)
    _watch(world, 60)
    assert not _reached(world)
    assert world.view().conditions["CaReplacement"].reason == "AwaitsAgents"
    assert "brokers-b-0.g1" in world.view().conditions["CaReplacement"].message
    held.mute.clear()
    world.converge(ticks=200)
    assert _reached(world) == ["trust-both"]


def phase_is_a_persons_after_some_rounds(world: World) -> None:
    """Nobody signs what agents ask for: restarts bring no other certificate, and are not repeated for ever."""
    held = _born(world)
    held.is_away = True
    _ask(world)
    _watch(world, 150)
    assert len(_asked(world)) == MOST_ROUNDS
    assert world.view().conditions["CaReplacement"].reason == "Stuck"


STORIES: tuple[Callable[[World], None], ...] = (
    certificates_over_a_year,
    certificates_wait_for_a_window,
    certificates_do_not_end_in_a_freeze,
    control_plane_is_away_for_months,
    certificates_do_not_come_beside_a_roll,
    certificates_end_in_a_pause_and_it_says_so,
    certificates_end_in_a_drain_of_months_and_it_says_so,
    cluster_ca_is_replaced,
    cluster_ca_replacement_goes_back,
    clients_ca_is_replaced,
    newcomer_is_born_at_the_phase,
    revoked_node_is_replaced,
    revoked_and_its_ca_replaced_at_once,
    phase_waits_for_a_word_of_each_agent,
    phase_is_a_persons_after_some_rounds,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_is_as_recorded(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)
