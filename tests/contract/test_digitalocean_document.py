"""The fake held to DigitalOcean's own OpenAPI document: what it answers has the shape the document promises."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.fakes.clouds.digitalocean import TOKEN, DigitaloceanFake, digitalocean_cloud
from tests.fakes.clouds.digitalocean_document import ANSWERS, kept

GIVEN: dict[str, dict[str, Any]] = {
    "/v2/droplets": {"name": "n", "region": "nyc3", "size": "g-2vcpu-8gb", "image": 1, "tags": ["a:b"]},
    "/v2/volumes": {"name": "v", "region": "nyc3", "size_gigabytes": 1, "tags": ["a:b"]},
    "/v2/vpcs": {"name": "n", "region": "nyc3", "ip_range": "10.20.0.0/20"},
    "/v2/tags": {"name": "extra"},
}


@pytest.fixture
def fake() -> Iterator[DigitaloceanFake]:
    with digitalocean_cloud() as cloud:
        yield cloud


def ask(fake: DigitaloceanFake, method: str, path: str, given: dict[str, Any] | None = None) -> tuple[int, Any]:
    body = json.dumps(given or {}).encode()
    status, _, told = fake.answer(method.upper(), path, {"Authorization": f"Bearer {TOKEN}"}, body)
    return status, json.loads(json.dumps(told))


@pytest.mark.parametrize(("method", "path", "status"), ANSWERS, ids=[f"{m} {p} {s}" for m, p, s in ANSWERS])
def test_an_answer_of_the_fake_is_one_of_the_document(
    fake: DigitaloceanFake, method: str, path: str, status: str
) -> None:
    droplet = ask(fake, "POST", "/v2/droplets", GIVEN["/v2/droplets"])[1]
    volume = ask(fake, "POST", "/v2/volumes", GIVEN["/v2/volumes"] | {"name": "first"})[1]
    action = droplet["links"]["actions"][0]["id"]
    made = {"droplet_id": droplet["droplet"]["id"], "volume_id": volume["volume"]["id"]}
    ids = {**made, "action_id": action, "image_id": 163663981}
    if status == "404":
        ids["droplet_id"] = 1
    asked = re.sub(r"\{(\w+)\}", lambda m: str(ids[m[1]]), path)
    given = {"type": "attach", "droplet_id": ids["droplet_id"]} if path.endswith("/actions") else GIVEN.get(path)
    told_status, told = ask(fake, method, asked, given)
    assert told_status == int(status)
    assert faults(f"{method.upper()} {path} {status}", told) == []


def test_what_the_document_does_not_promise_is_told(fake: DigitaloceanFake) -> None:
    told = ask(fake, "POST", "/v2/droplets", GIVEN["/v2/droplets"])[1]
    number = told["droplet"]["id"]
    _, told = ask(fake, "GET", f"/v2/droplets/{number}")
    del told["droplet"]["region"]
    told["droplet"]["status"] = "asleep"
    said = " ".join(faults("GET /v2/droplets/{droplet_id} 200", told))
    assert '"region" is a required property' in said
    assert '"asleep"' in said


def faults(answer: str, told: Any) -> list[str]:
    """What of an answer is not as the document says."""
    validator = jsonschema_rs.validator_for(kept()[answer])
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(told)]
