"""A cold pair of real clusters: its doors are shut by kernels, its name is BIND's, and a client moves there and back.
Every record it was promised is on the one cluster or on the other."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from controlplane.api.schemas import failovers as api
from providers.local.namespaces import inside
from tests.e2e.pair_of_clusters import (
    EU,
    NAME,
    PAIR,
    TOPIC,
    US,
    Pair,
    a_pair,
    moving_client,
    pair_document,
    topic_documents,
    zone_of,
)
from tests.fakes.bind import Bind, running_bind
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(420), A_NETWORK_FOR_EACH_VM]


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    with running_bind(tmp_path_factory.mktemp("bind")) as running:
        yield running


@pytest.fixture(scope="module")
def pair(bind: Bind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with a_pair(tmp_path_factory.mktemp("pair") / "home", bind) as found:
        found.apply(*topic_documents(TOPIC))
        found.has_topics(TOPIC)
        yield found


def test_a_standby_that_is_declared_lets_no_client_in_and_is_looked_after_all_the_same(pair: Pair) -> None:
    assert pair.knocked(US) == {"open"}
    pair.apply(pair_document())
    pair.until_state("Standby")
    assert (pair.knocked(EU), pair.knocked(US)) == ({"open"}, {"refused"})
    assert pair.living.client.cluster(US).status == "Converged"


def test_clients_move_to_the_standby_and_back_and_no_record_they_were_promised_is_nowhere(
    pair: Pair, bind: Bind
) -> None:
    zone, pauses = zone_of(bind), []
    standing = inside(pair.machine, lambda: socket.create_connection((pair.brokers(EU)[0].split(":")[0], 9092)))
    with moving_client(pair) as client:
        for primary, other in ((US, EU), (EU, US)):
            restarts_before, at = len(client.restarts), pair.order()
            pair.until_state("Standby", primary=primary, within_s=120)
            assert (pair.knocked(primary), pair.knocked(other)) == ({"open"}, {"refused"})
            assert zone.read(NAME).addresses == {at.partition(":")[0] for at in pair.brokers(primary)}
            client.is_taken_now(pair.living)
            pauses.append(client.pause_after(at))
            assert len(client.restarts) - restarts_before <= (primary == EU), "on its way back it may have to"
    with standing, pytest.raises(ConnectionResetError):  # it was cut, and not only left alone
        standing.recv(1)
    kept = pair.names(EU) | pair.names(US)
    missing = [name for _, name in client.acked if name not in kept]
    print(f"{len(client.acked)} acknowledged, {len(missing)} missing; pauses {[round(p, 1) for p in pauses]} s")
    print(f"{len(client.restarts)} restarts, {len(client.given_up)} given up by then: {set(client.given_up)}")
    assert missing == []
    assert not client.given_up or client.restarts


def test_a_server_that_is_killed_with_producers_held_goes_on_and_nobody_has_two_primaries(pair: Pair) -> None:
    pair.order()
    pair.living.until(lambda: _is_past(pair.state(), "Flipping"), "the door to be shut", timeout_s=60, every_s=0.05)
    pair.living.restart_server()
    found = pair.until_state("Standby", within_s=120)
    doors = {door.cluster: door.state for door in found.doors}
    assert sorted(doors.values()) == ["closed", "open"]
    assert doors[found.primary] == "open"
    assert pair.knocked(found.primary) == {"open"}
    assert pair.knocked(found.standby) == {"refused"}


def test_a_primary_that_nobody_hears_of_is_taken_over_from_by_a_persons_word_alone_and_comes_back_shut(
    pair: Pair,
) -> None:
    before, living = pair.state(), pair.living
    silent, left = before.primary, before.standby
    living.uid = living.client.cluster(silent).uid
    with ExitStack() as still:
        for key in pair.broker_keys(silent):
            still.enter_context(living.frozen(key))
        pair.order(planned=False, accept_loss=True)
        found = pair.until_state("Fencing", within_s=120)
        time.sleep(20)  # longer than a report counts for: silence is no proof, however long it lasts
        found = pair.state()
        assert (found.state, found.primary, found.needs_person) == ("Fencing", silent, True)
        assert pair.knocked(left) == {"refused"}
        word = api.DoorCertificationIn(confirm=PAIR, reason="its VMs stand still: e2e")
        living.client.certify_door_shut(PAIR, word)
        pair.until_state("Seeding", "Standby", primary=left, within_s=60)
        assert pair.knocked(left) == {"open"}
    living.until(lambda: pair.knocked(silent) == {"refused"} or None, "what woke up to be shut", timeout_s=60)
    pair.until_state("Standby", primary=left, within_s=120)


def test_a_pair_that_is_withdrawn_leaves_two_clusters_that_let_clients_in(pair: Pair) -> None:
    pair.living.client.withdraw_failover(PAIR, api.WithdrawalIn(confirm=PAIR, reason="over"))
    pair.living.until(
        lambda: pair.knocked(EU) == pair.knocked(US) == {"open"} or None, "both doors to be gone", timeout_s=60
    )
    assert TOPIC in pair.living.snapshot_at(pair.brokers(US)).by_topic


def test_of_a_primary_whose_vms_are_gone_the_standby_takes_over_by_what_the_cloud_says(pair: Pair) -> None:
    """Declared anew, it is another pair, whose epochs begin anew."""
    pair.apply(pair_document())
    pair.until_state("Standby", primary=EU)
    assert (pair.knocked(EU), pair.knocked(US)) == ({"open"}, {"refused"})
    pair.living.uid = pair.living.client.cluster(EU).uid
    for key in pair.broker_keys(EU):
        pair.living.power_cut(key)
    pair.order(planned=False, accept_loss=True)
    pair.until_state("Seeding", "Standby", primary=US, within_s=180)
    assert pair.knocked(US) == {"open"}


def _is_past(pair: api.FailoverOut, state: str) -> bool | None:
    order = ("Preparing", "Flipping", "Fencing", "Promoting")
    return pair.state in order[order.index(state) + 1 :] or None
