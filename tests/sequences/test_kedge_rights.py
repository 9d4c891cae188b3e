"""Kedge's own rights in the simulation: nodes alone are super users from a cluster's birth on; one of the release
before gets there without a restart of its own; what others take away comes back, whoever dies in between."""

from controlplane.storage.certificates.principals import principals_of
from events import facts
from events.spec.model import KafkaClusterDocument
from events.spec.security import Listener, Security
from planner.rights.acls import Acl
from planner.rights.kedge import kedge_acls
from tests.builders import a_document
from tests.sim.crashes import Crashes
from tests.sim.world import World

PLAIN = Listener()
TLS = Listener(name="TLS", port=9094, security="tls")
OWN = principals_of(World.uid)
WANTED = set(kedge_acls(OWN.kedge))
ALICE = Acl("User:alice", "topic", "pay", "literal", "Read")


def secured() -> KafkaClusterDocument:
    document = a_document()
    update = {"security": Security(internal="tls"), "listeners": (PLAIN, TLS)}
    return document.model_copy(update={"spec": document.spec.model_copy(update=update)})


def _knowing_the_server(world: World) -> set[str]:
    """Which of the VMs run something that takes Kedge's server for a super user."""
    told = [(key, p.document.tls) for key, vm in world.machines.vms.items() for p in vm.processes if p.up]
    return {key for key, tls in told if tls is not None and OWN.principal("server") in tls.super_users}


def _restarts(world: World) -> int:
    return sum(r.type == "restart.requested" for r in world.history())


def _begun(world: World) -> int:
    return sum(r.type == "security.least_rights_begun" for r in world.history())


def _of_the_release_before(world: World) -> None:
    """A cluster whose services all take Kedge's server for a super user, and whose server has just been upgraded."""
    world.knows_kedge_rights = False
    world.start_server()
    world.declare(a_document())
    world.converge(ticks=200)
    world.declare(secured())
    world.converge(ticks=900)
    assert len(_knowing_the_server(world)) == 6
    assert _begun(world) == 0
    world.knows_kedge_rights = True
    world.disturbed()
    world.kafka.users.by_others = True
    world.start_server()


def _born(world: World) -> None:
    world.declare(secured())
    world.converge(ticks=200)


def test_a_cluster_is_born_with_nodes_alone_as_super_users() -> None:
    world = World()
    _born(world)
    assert _begun(world) == 1
    assert _knowing_the_server(world) == set()
    assert world.kafka.users.acls == WANTED


def test_one_of_the_release_before_is_restarted_by_nobody_and_goes_there_with_the_next_start_of_each() -> None:
    world = World()
    _of_the_release_before(world)
    before = _restarts(world)
    world.run(until=lambda now: _begun(now) == 1, ticks=200)
    world.converge(ticks=200)
    assert world.kafka.users.acls == WANTED
    assert (_begun(world), _restarts(world)) == (1, before)
    assert len(_knowing_the_server(world)) == 6
    brokers = tuple(sorted(i.key for i in world.view().brokers()))
    world.person(facts.RollingRestartRequested("restart-1", brokers, "asked by anna"))
    world.converge(ticks=600)
    assert _restarts(world) == before + 3
    assert {key.partition("-")[0] for key in _knowing_the_server(world)} == {"controllers"}, "some of both is fine"


def test_what_others_take_away_is_back_within_a_look_and_theirs_is_left() -> None:
    world = World()
    _born(world)
    world.disturbed()
    world.kafka.users.by_others = True
    world.kafka.users.acls = {ALICE, *sorted(WANTED)[:3], ALICE._replace(principal=OWN.principal("portal"))}
    world.run(until=lambda now: now.kafka.users.acls == {*WANTED, ALICE}, ticks=200)
    assert world.kafka.users.acls == {*WANTED, ALICE}
    assert _restarts(world) == 0
    assert _begun(world) == 1


def test_a_server_that_dies_at_any_point_of_it_leaves_nothing_undone() -> None:
    def taken_away(world: World) -> None:
        _born(world)
        world.disturbed()
        world.kafka.users.by_others = True
        world.kafka.users.acls = set()
        world.run(until=lambda now: now.kafka.users.acls == WANTED, ticks=200)

    points = [n for n, name in enumerate(Crashes(taken_away).points, start=1) if "change_user_rights" in name]
    assert len(points) >= 4, "at birth, and once they were taken away"
    for point in points:
        world = World(crash_at=point)
        taken_away(world)
        assert world.kafka.users.acls == WANTED
        assert _knowing_the_server(world) == set()
