"""Generated requests to every operation of the OpenAPI document: no 5xx, answers true to it, nothing without a proof.

Seeded: each run sends the same. The soak sends many times as many.
"""

import hashlib
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings, strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi import checks as openapi

from controlplane.api.api_document import api_document
from controlplane.storage.agent_credentials import Vm
from events.ids import IntentId, NodeName
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import PORT, START, TOKEN, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics

URL = f"http://127.0.0.1:{PORT}"
SECRET = "what the agent made"
CHECKS = [
    not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
]
FEW, MANY = 4, 60
HOW: dict[str, Any] = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": [*HealthCheck]}

document = api_document(House().app)
schema, thorough = (schemathesis.openapi.from_dict(deepcopy(document)) for _ in range(2))
schema.config.phases.coverage.enabled = False  # one request for each corner of each value: the soak has it
for one in (schema, thorough):
    one.config.generation.with_security_parameters = False


@schema.given(is_pointed=st.booleans())
@schema.parametrize()
@settings(max_examples=FEW, **HOW)
def test_every_answer_is_as_the_document_says(case: schemathesis.Case, is_pointed: bool) -> None:
    held(case, is_pointed)


@pytest.mark.soak
@thorough.given(is_pointed=st.booleans())
@thorough.parametrize()
@settings(max_examples=MANY, **HOW)
def test_every_answer_is_as_the_document_says_to_many_more(case: schemathesis.Case, is_pointed: bool) -> None:
    held(case, is_pointed)


@schema.parametrize()
@settings(max_examples=1, **HOW)
def test_no_operation_is_done_for_whoever_proves_nothing(case: schemathesis.Case) -> None:
    house = house_for(f"unproved {case.operation.label}")
    pointed(case, house)
    wanted = case.operation.definition.raw["security"]
    head = house.store.head()
    for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = case.call(base_url=URL, headers=shown, app=house.app)
        assert (answer.status_code in (401, 429)) == bool(wanted), (case.operation.label, shown, answer.status_code)
        case.validate_response(answer, checks=CHECKS)
    assert house.store.head() == head


def test_the_document_says_for_every_operation_what_a_caller_has_to_show() -> None:
    open_ones = {
        f"{method} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if not operation["security"]
    }
    assert open_ones == {"post /agent/v1/enrol", "get /agent/v1/ca"}


def held(case: schemathesis.Case, is_pointed: bool) -> None:
    """Sends one request and holds the answer to the document."""
    house = house_for(case.operation.label)
    if is_pointed:
        pointed(case, house)
    answer = case.call(base_url=URL, headers=proof(house, case.path), app=house.app)
    case.validate_response(answer, checks=CHECKS + [openapi.negative_data_rejection] * is_body_wrong(case))
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"]
        assert answer.json()["title"]


def is_body_wrong(case: schemathesis.Case) -> bool:
    """Whether what is wrong with the request is its body. Parameters nobody asked for are passed over by intent."""
    body = case.meta.components.get(ParameterLocation.BODY) if case.meta else None
    return body is not None and body.mode.is_negative


@cache
def house_for(label: str) -> House:
    """A house of each operation's own, with a cluster, topics, groups and an agent; nothing holds an answer back."""
    house = house_with_topics()
    view = house.view()
    moving = a_partition("clicks-0", (1000, 1001), adding=(1002,), removing=(1000,))
    house.snapshots[view.uid] = replace(a_snapshot(a_partition("payments-0", (1000, 1001)), moving), at=START)
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.create_topic("payments", partitions=1, rf=1)
    house.kafka.consumers.join("billing", "payments")
    house.kafka.consumers.commit("billing", "payments", 0, 7)
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    vm = Vm(view.uid, NodeName("brokers-a-0"), 1)
    house.credentials.enroll(vm, credential_sha256=digest, intent_id=IntentId("intent-1"))
    house.app.state.feed.close()
    return house


def proof(house: House, path: str) -> dict[str, str]:
    """What the caller of an operation shows."""
    if not path.startswith("/agent/"):
        return {"Authorization": f"Bearer {TOKEN}"}
    return {"Authorization": f"Bearer {SECRET}", "X-Kedge-Instance": f"{house.view().uid}/brokers-a-0.g1"}


def pointed(case: schemathesis.Case, house: House) -> None:
    """Turns a request to things that are there, so that it gets beyond 404."""
    names = {"node": "brokers-a-0", "topic": "payments", "group": "billing", "number": "waiting1", "broker": 1000}
    names |= {"anomaly": "orders-1"}
    if "/clusters/" in case.path:
        names["name"] = "orders"
    case.path_parameters.update({k: v for k, v in names.items() if k in case.path_parameters})
    if not case.path.startswith("/agent/"):
        return
    own = {"cluster_uid": house.view().uid, "node": "brokers-a-0", "generation": 1, "wire": 1}
    if isinstance(case.body, dict):
        # What is of a wrong type stays so: the body would be right again.
        case.body.update({k: v for k, v in own.items() if type(case.body.get(k)) is type(v)})
    if "cluster" in case.query:
        case.query.update({"cluster": own["cluster_uid"], "node": own["node"], "generation": 1})
