"""What the agents of a cluster of a pair are told of its door, and how soon."""

import threading

import httpx
import pytest

from agent.wire import OVERLAY_WIRE_VERSION, Document
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts
from events.codec import encode
from events.envelope import Recorded
from tests.unit.controlplane.api.agent_house import ask, enrolled, etag_of
from tests.unit.controlplane.api.portal_house import START, House, broker


@pytest.fixture(params=["by the routes", "by what is in memory"])
def house(request: pytest.FixtureRequest) -> House:
    """With `orders`; who asks again is answered without the routes, and hears the same."""
    house = House(remembers_agents=request.param == "by what is in memory")
    house.apply()
    return house


def _pair_hears(house: House, *facts_of: object) -> None:
    """Facts of a pair whose standby is `orders`, recorded by another process."""
    uid, cache = house.view().uid, house.services.cluster.pair_parts.cache
    registered = failover_facts.PairRegistered("p1", "both", ("0" * 32, uid))
    for version, fact in enumerate((registered, *facts_of)):
        event, stream = encode(fact, str(version)), FAILOVERS if version == 0 else pair_stream("p1")
        of_stream = max(version, 1)
        cache.take_in(
            Recorded(1, stream, of_stream, "e", event.type, event.schema, event.data, "person:a", None, None, 1, START)
        )


def test_a_held_question_is_answered_as_soon_as_the_pair_of_a_cluster_shuts_its_door(house: House) -> None:
    vm = enrolled(house)
    first = ask(house, vm)
    assert Document.model_validate_json(first.content).door is None
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(ask(house, vm, etag=etag_of(first), wait_s=20)))
    asking.start()
    asking.join(timeout=0.5)
    assert asking.is_alive()
    declared = failover_facts.FailoverDeclared("both", "0" * 32, house.view().uid, "cold")
    _pair_hears(house, declared)
    asking.join(timeout=10)
    document = Document.model_validate_json(answers[0].content)
    assert document.door is not None
    assert (document.door.pair, document.door.state, document.door.epoch) == ("p1", "shut", 1)
    assert document.wire >= OVERLAY_WIRE_VERSION, "an agent that knows no doors starts nothing of it"
    assert ask(house, vm, etag=etag_of(answers[0])).status_code == 304
    _pair_hears(house, declared, failover_facts.PairWithdrawn("over"))
    after = Document.model_validate_json(ask(house, vm, etag=etag_of(answers[0])).content)
    assert after.door is not None
    assert (after.door.state, after.door.epoch) == ("none", 2)


def test_a_controller_has_no_door(house: House) -> None:
    planned = broker("controllers-a-0", 100, service="controller")
    vm = enrolled(house, planned)
    _pair_hears(house, failover_facts.FailoverDeclared("both", "0" * 32, house.view().uid, "cold"))
    assert Document.model_validate_json(ask(house, vm).content).door is None
