"""Clients whose requests the next major Kafka refuses: read off Jolokia's answer to a pattern."""

import json
from typing import Any

import httpx

from agent.metrics import Jolokia
from agent.old_clients import MOST, PATTERN, old_clients
from agent.wire import OldClientReport, ServiceReport

BEAN = (
    "kafka.network:clientSoftwareName={name},clientSoftwareVersion={software},name=DeprecatedRequestsPerSec,"
    "request={request},type=RequestMetrics,version={version}"
)


def bean(request: str = "Fetch", version: object = 2, name: str = "librdkafka", software: str = "0.11.6") -> str:
    return BEAN.format(name=name, software=software, request=request, version=version)


def jolokia(*items: dict[str, Any], status: int = 200) -> Jolokia:
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        assert asked[-1] == [{"type": "read", "mbean": PATTERN, "attribute": "Count"}]
        return httpx.Response(status, json=list(items))

    return Jolokia("http://broker:8778", transport=httpx.MockTransport(answer))


def test_the_busiest_client_is_told_first_with_its_request_and_version() -> None:
    value = {bean(): {"Count": 3}, bean("ListOffsets", 0, "unknown", "unknown"): {"Count": 7}}
    assert old_clients(jolokia({"status": 200, "value": value})) == (
        OldClientReport(request="ListOffsets", version=0, software="unknown", software_version="unknown", requests=7),
        OldClientReport(request="Fetch", version=2, software="librdkafka", software_version="0.11.6", requests=3),
    )


def test_a_broker_that_never_had_such_a_request_tells_none() -> None:
    assert old_clients(jolokia({"status": 404, "error": "no MBean with pattern"})) == ()
    assert old_clients(jolokia({"status": 200, "value": {bean(): {"Count": 0}}})) == ()


def test_a_silent_port_and_an_answer_that_makes_no_sense_prove_nothing() -> None:
    assert old_clients(jolokia(status=500)) == ()
    assert old_clients(jolokia({"status": 200, "value": {bean(version="x"): {"Count": 3}, bean(): 3}})) == ()


def test_no_more_are_told_than_fit_a_report() -> None:
    value = {bean(software=f"1.{n}"): {"Count": n + 1} for n in range(MOST + 5)}
    told = old_clients(jolokia({"status": 200, "value": value}))
    assert (len(told), told[0].requests) == (MOST, MOST + 5)


def test_a_report_of_an_older_agent_has_none() -> None:
    told = {"name": "broker", "state": "running", "start_id": "s", "since": "2026-01-01T00:00:00Z"}
    assert ServiceReport.model_validate(told).old_clients == ()
