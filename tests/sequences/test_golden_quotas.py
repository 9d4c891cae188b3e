"""The stories of quotas that are of no single user, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable, Mapping

import pytest

from controlplane.cluster.work_in_hand import has_work
from events import facts
from events.spec.model import KafkaClusterDocument
from events.spec.quotas import ClientRates, ClusterQuotas, QuotaRates, UserQuotas
from planner.rights.wanted import QuotaEntity, client_entity, user_entity
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.test_golden_disk_protection import fill
from tests.sim.users import declare_user
from tests.sim.world import World

MIB = 1024 * 1024
EVERYBODY, APP, ANY_CLIENT = user_entity(None), client_entity("app"), client_entity(None)
OTHERS: Mapping[QuotaEntity, dict[str, float]] = {
    client_entity("theirs"): {"producer_byte_rate": 7.0},
    user_entity("bob"): {"request_percentage": 50.0},
}
SAID = ClusterQuotas(
    default_user=UserQuotas(producer_byte_rate=5 * MIB, request_percentage=100),
    client_ids=(ClientRates(client_id="app", producer_byte_rate=MIB, controller_mutation_rate=10),),
)
IN_KAFKA = {
    EVERYBODY: {"producer_byte_rate": 5.0 * MIB, "request_percentage": 100.0},
    APP: {"producer_byte_rate": 1.0 * MIB, "controller_mutation_rate": 10.0},
}


def saying(quotas: ClusterQuotas) -> KafkaClusterDocument:
    document = a_document()
    return document.model_copy(update={"spec": document.spec.model_copy(update={"quotas": quotas})})


def _born(world: World, quotas: ClusterQuotas | None = None) -> None:
    world.declare(saying(quotas or ClusterQuotas()))
    world.converge()


def quotas_live(world: World) -> None:
    """Declared, changed, put right where others changed them, and taken away; what nobody declared is left alone."""
    _born(world)
    world.kafka.users.quotas = {entity: dict(values) for entity, values in OTHERS.items()}
    world.kafka.users.quotas[EVERYBODY] = {"consumer_byte_rate": 1.0}
    world.declare(saying(SAID))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == {**OTHERS, **IN_KAFKA}, "all of an entity is the spec's"
    world.kafka.users.quotas[APP] = {"producer_byte_rate": 9.0, "consumer_byte_rate": 9.0}
    world.kafka.users.quotas[ANY_CLIENT] = {"producer_byte_rate": 9.0}
    world.kafka.users.by_others = True
    for _ in range(70):
        world.tick()
    theirs = {**OTHERS, ANY_CLIENT: {"producer_byte_rate": 9.0}}
    assert world.kafka.users.quotas == {**theirs, **IN_KAFKA}
    fewer = ClusterQuotas(default_client_id=QuotaRates(producer_byte_rate=MIB))
    world.declare(saying(fewer))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == {**OTHERS, ANY_CLIENT: {"producer_byte_rate": 1.0 * MIB}}
    world.declare(saying(ClusterQuotas()))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == dict(OTHERS)
    assert not has_work(world.view())


def quotas_taken_over(world: World) -> None:
    """What is there and equal is taken over without a request; it goes with its declaration all the same."""
    _born(world)
    world.kafka.users.quotas = {entity: dict(values) for entity, values in IN_KAFKA.items()}
    world.declare(saying(SAID))
    world.converge(ticks=20)
    assert world.view().settings.client_quotas.changes == 0
    world.declare(saying(ClusterQuotas()))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == {}


def quotas_refused_by_kafka(world: World) -> None:
    """Kafka's words are told, it is not asked again and again, and again once a person says so."""
    _born(world)
    world.kafka.users.refusing[""] = 'Kafka said "no" (PolicyViolationError)'
    world.declare(saying(SAID))
    world.converge(ticks=20)
    assert world.view().conditions["UsersDegraded"].status
    assert "spec.quotas: Refused" in world.view().conditions["UsersDegraded"].message
    for _ in range(140):
        world.tick()
    assert world.view().settings.client_quotas.changes == 1
    world.kafka.users.refusing.clear()
    world.person(facts.ClusterResumed(""))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == IN_KAFKA
    assert not world.view().conditions["UsersDegraded"].status


def quotas_changed_while_one_is_on_its_way(world: World) -> None:
    """Brokers are away when a change is to be made, and another spec comes meanwhile: each is made in its turn."""
    _born(world)
    world.kafka.users.refusing[""] = ""
    world.kafka.users.requests_until_dead = 0
    world.declare(saying(SAID))
    for _ in range(6):
        world.tick()
    assert world.kafka.users.quotas == {}
    other = replace_default(SAID, 2 * MIB)
    world.declare(saying(other))
    for _ in range(3):
        world.tick()
    world.kafka.users.requests_until_dead = None
    world.converge(ticks=30)
    assert world.kafka.users.quotas[EVERYBODY]["producer_byte_rate"] == 2.0 * MIB
    assert world.view().settings.client_quotas.changes == 2


def quotas_of_a_user(world: World) -> None:
    """By client id, and of its tier where its document says nothing; another tier's figures reach it, too."""
    tiers = {"critical": QuotaRates(producer_byte_rate=8 * MIB, consumer_byte_rate=9 * MIB)}
    _born(world, ClusterQuotas(tiers=tiers))
    own, fast = user_entity("alice"), client_entity("fast", user_entity("alice"))
    clients = {"fast": {"producer_byte_rate": 2 * MIB}, "": {"controller_mutation_rate": 3}}
    declare_user(world, "alice", (), {"consumer_byte_rate": 5}, client_quotas=clients, tier="critical")
    world.converge(ticks=20)
    rest = {
        fast: {"producer_byte_rate": 2.0 * MIB},
        client_entity(None, own): {"controller_mutation_rate": 3.0},
    }
    assert world.kafka.users.quotas == {own: {"consumer_byte_rate": 5.0, "producer_byte_rate": 8.0 * MIB}, **rest}
    world.declare(saying(ClusterQuotas(tiers={"critical": QuotaRates(producer_byte_rate=4 * MIB)})))
    world.converge(ticks=20)
    assert world.kafka.users.quotas == {own: {"consumer_byte_rate": 5.0, "producer_byte_rate": 4.0 * MIB}, **rest}
    declare_user(world, "alice")
    world.converge(ticks=20)
    assert world.kafka.users.quotas == {}


def replace_default(quotas: ClusterQuotas, rate: int) -> ClusterQuotas:
    assert quotas.default_user is not None
    other = quotas.default_user.model_copy(update={"producer_byte_rate": rate})
    return quotas.model_copy(update={"default_user": other})


SCENARIOS = (
    quotas_live,
    quotas_taken_over,
    quotas_refused_by_kafka,
    quotas_changed_while_one_is_on_its_way,
    quotas_of_a_user,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_story_of_quotas_is_told_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_a_cluster_without_quotas_is_never_asked_for_them() -> None:
    world = World()
    _born(world)
    reads = world.kafka.users.reads
    for _ in range(70):
        world.tick()
    assert world.kafka.users.reads == reads


def test_while_a_disk_is_nearly_full_the_default_of_producers_is_left_alone() -> None:
    world = World()
    protected = a_document(disks=", protect: quota")
    spec = protected.spec.model_copy(update={"quotas": SAID})
    world.declare(protected.model_copy(update={"spec": spec}))
    world.converge(ticks=200)
    fill(world, 1001, 0.96)
    world.run(until=lambda w: w.kafka.default_producer_rate != 5.0 * MIB, ticks=200)
    slowed = world.kafka.default_producer_rate
    for _ in range(70):
        world.tick()
    assert world.kafka.default_producer_rate == slowed
    assert world.view().settings.client_quotas.changes == 1, "it is not taken for a change by others"
    fill(world, 1001, 0.7)
    world.run(until=lambda w: w.kafka.default_producer_rate == 5.0 * MIB, ticks=200)
    world.converge(ticks=200)
    assert world.kafka.users.quotas == IN_KAFKA
