"""GET /v1/clusters/NAME/state: what planners read, or why it is not known."""

import json
from datetime import timedelta

from planner.drain.model.document import read_state
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House


def test_the_state_is_a_document_planners_read_with_the_time_it_was_seen() -> None:
    house = House()
    house.apply()
    uid = house.view().uid
    # no VM of this cluster exists yet, so the catalogue says nothing of its brokers: figures are left out
    house.snapshots[uid] = a_snapshot(a_partition(), fenced=(), at=START - timedelta(seconds=5))
    answer = house.client.get("/v1/clusters/orders/state").json()
    assert (answer["cluster"], answer["age_s"]) == ("orders", 5.0)
    assert "ingress_bytes_per_s" not in answer["document"]["brokers"][0]
    for broker in answer["document"]["brokers"]:
        broker |= {"ingress_bytes_per_s": 1e8, "egress_bytes_per_s": 1e8}
    assert len(read_state(json.dumps(answer["document"])).state.partitions) == 1


def test_before_kafka_was_read_it_says_so_and_not_an_empty_cluster() -> None:
    house = House()
    house.apply()
    response = house.client.get("/v1/clusters/orders/state")
    assert (response.status_code, response.json()["code"]) == (409, "kafka-unknown")


def test_an_unknown_cluster_is_not_found() -> None:
    assert House().client.get("/v1/clusters/nobody/state").status_code == 404
