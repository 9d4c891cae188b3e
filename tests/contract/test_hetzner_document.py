"""The fake's answers held to a document of Hetzner's API: types, required fields, words of an enumeration.

The document is older than the removal of `datacenter` (2026-07-01); that one field is the whole difference.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.fakes.clouds.hetzner_objects import Project

DOCUMENT: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "fakes" / "clouds" / "hetzner_document.json").read_text()
)

REMOVED = "datacenter"
NOTHING: Mapping[str, list[str]] = {}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """One answer of each call, in the order of a server's life."""
    project, told = Project(), {}

    def ask(call: str, number: int = 0, query: Mapping[str, list[str]] = NOTHING, **body: Any) -> Any:
        method, path = call.split(" ")
        parts = path.strip("/").replace("ID", str(number)).split("/")
        _, told[call] = project.act(method, parts, query, body)
        # As it was at that time: the project goes on with the same objects.
        told[call] = json.loads(json.dumps(told[call]))
        return told[call]

    subnet = {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.0.0/24"}
    network = ask("POST /networks", name="n", ip_range="10.0.0.0/16", subnets=[subnet])["network"]["id"]
    group = ask("POST /placement_groups", name="g", type="spread")["placement_group"]["id"]
    rule = {"direction": "in", "protocol": "tcp", "port": "9092", "source_ips": ["10.8.0.0/16"]}
    ours = {"type": "label_selector", "label_selector": {"selector": "kedge-installation=test"}}
    firewall = ask("POST /firewalls", name="f", rules=[rule], apply_to=[ours])["firewall"]["id"]
    image = project.make_image("kedge")
    made = ask(
        "POST /servers",
        name="s",
        server_type="ccx13",
        image=image,
        location="fsn1",
        labels={"kedge-installation": "test"},
        placement_group=group,
        public_net={"enable_ipv4": False, "enable_ipv6": False},
        start_after_create=False,
    )
    server = made["server"]["id"]
    volume = ask("POST /volumes", name="v", size=10, location="fsn1")["volume"]["id"]
    ask("POST /servers/ID/actions/attach_to_network", server, network=network)
    ask("POST /servers/ID/actions/poweron", server)
    ask("POST /volumes/ID/actions/attach", volume, server=server)
    for kind, number in {
        "servers": server,
        "volumes": volume,
        "networks": network,
        "placement_groups": group,
        "firewalls": firewall,
        "images": image,
    }.items():
        ask(f"GET /{kind}/ID", number)
    for kind in ("servers", "volumes", "server_types"):
        ask(f"GET /{kind}")
    ask("GET /actions", query={"id": [str(made["action"]["id"])]})
    ask("POST /volumes/ID/actions/detach", volume)
    ask("POST /servers/ID/actions/detach_from_network", server, network=network)
    ask("DELETE /servers/ID", server)
    return told


@pytest.mark.parametrize("call", DOCUMENT["answers"])
def test_an_answer_is_as_the_document_says(call: str, answers: dict[str, Any]) -> None:
    schema = DOCUMENT["answers"][call]
    wrong = [str(e) for e in jsonschema_rs.Draft202012Validator(schema).iter_errors(answers[call])]
    assert [one.splitlines()[0] for one in wrong if f'"{REMOVED}" is a required property' not in one] == []


def test_the_one_field_that_is_left_out_is_the_one_hetzner_removed(answers: dict[str, Any]) -> None:
    wrong = list(
        jsonschema_rs.Draft202012Validator(DOCUMENT["answers"]["GET /servers/ID"]).iter_errors(
            answers["GET /servers/ID"]
        )
    )
    assert [one.message for one in wrong] == [f'"{REMOVED}" is a required property']


def test_the_document_refuses_what_is_not_hetzners(answers: dict[str, Any]) -> None:
    spoilt = json.loads(json.dumps(answers["GET /volumes/ID"]))
    spoilt["volume"]["size"] = "ten"
    assert not jsonschema_rs.Draft202012Validator(DOCUMENT["answers"]["GET /volumes/ID"]).is_valid(spoilt)
