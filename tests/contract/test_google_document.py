"""The fake, and all who talk to it, against Google's own document of the API: no word is made up.

The stand-in's calls are made here without Terraform; the SDK's are those of the inventory. What the document does not
say (errors, the order of things) is in tests/fakes/clouds/differences.md.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import googleapiclient.discovery_cache
import pytest

from providers.google.cloud import GoogleCloud
from tests.fakes.clouds.google import Exchange, GoogleFake, google_fake
from tests.fakes.clouds.google_hands import HOME, PLACE, write_settings
from tests.fakes.clouds.google_world import PROJECT
from tests.standins.google import open_stand_in

Schema = Mapping[str, Any]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}
ZONE = f"{HOME}-b"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    folder = Path(googleapiclient.discovery_cache.__path__[0])
    told: dict[str, Any] = json.loads((folder / "documents" / "compute.v1.json").read_text())
    return told


@pytest.fixture(scope="module")
def methods(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By name without the first word: `instances.insert`."""
    every = (m for resource in document["resources"].values() for m in resource.get("methods", {}).values())
    return {m["id"].removeprefix("compute."): m for m in every}


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory: pytest.TempPathFactory) -> list[Exchange]:
    """A life: a network, a VM with a disk and an address, looked at by the SDK, and all of it deleted."""
    with google_fake() as google:
        live(google)
        cloud = GoogleCloud("test", write_settings(tmp_path_factory.mktemp("g") / "google.yaml", google), page=1)
        (seen,) = cloud.list_place(PLACE).instances
        cloud.foreign_vms(PLACE)
        cloud.describe(PLACE, [seen.id])
        machine = google.world.things[f"projects/{PROJECT}/zones/{ZONE}/instances/vm"]
        machine["resourceStatus"] = {
            "upcomingMaintenance": {"type": "SCHEDULED", "windowStartTime": "2026-12-01T03:00:00Z"}
        }
        assert list(cloud.notices(PLACE)) == [seen.id]
        google.consoles["vm"] = "booting\n"
        assert cloud.console(PLACE, seen.id) == "booting\n"
        assert {f.well for f in cloud.examine(PLACE)} == {True}
        google.unreachable = {f"{HOME}-d"}
        cloud._access.client(PLACE, "Instances").aggregated_list(request={"project": PROJECT})
        google.unreachable = set()
        google.world.polls = 2
        die(google, cloud, seen.id)
        return google.exchanges


def test_every_call_is_one_of_the_document(exchanges: list[Exchange], methods: dict[str, Any]) -> None:
    assert {e.action for e in exchanges} == {
        *(f"{kind}.{verb}" for kind in KINDS for verb in ("insert", "get", "delete")),
        "instances.attachDisk",
        "instances.detachDisk",
        "instances.aggregatedList",
        "disks.aggregatedList",
        "addresses.list",
        "projects.get",
        "zones.get",
        "images.get",
        "regions.get",
        "machineTypes.get",
        "instances.getSerialPortOutput",
        "zoneOperations.get",
        "regionOperations.get",
        "globalOperations.get",
    }
    for e in exchanges:
        method = methods[e.action]
        template = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", method["path"])
        words = re.fullmatch(f"/compute/v1/{template}", e.path)
        assert words is not None, (e.path, method["path"])
        assert e.method == method["httpMethod"]
        for name, value in words.groupdict().items():
            pattern = method["parameters"][name].get("pattern", ".*")
            assert re.fullmatch(pattern, value), (e.action, name, value)


def test_every_question_is_as_the_document_has_it(
    exchanges: list[Exchange], methods: dict[str, Any], document: dict[str, Any]
) -> None:
    for e in exchanges:
        known = methods[e.action]["parameters"].keys() | document["parameters"].keys()
        assert set(e.query) <= known, (e.action, e.query)
        required = {
            n for n, p in methods[e.action]["parameters"].items() if p.get("required") and p["location"] == "query"
        }
        assert required <= set(e.query), e.action
        if e.body is not None:
            wrong = list(misfits(e.body, methods[e.action]["request"], document["schemas"]))
            assert wrong == [], (e.action, wrong)


def test_every_answer_is_as_the_document_has_it(
    exchanges: list[Exchange], methods: dict[str, Any], document: dict[str, Any]
) -> None:
    answered = [e for e in exchanges if e.status == 200]
    assert len(answered) > 50
    for e in answered:
        wrong = list(misfits(e.answer, methods[e.action]["response"], document["schemas"]))
        assert wrong == [], (e.action, wrong)


def test_the_judge_sees_what_is_wrong(document: dict[str, Any]) -> None:
    wrong = {"id": 5, "nonsense": 1, "status": "BORED", "disks": [{"boot": "yes"}]}
    assert sorted(misfits(wrong, {"$ref": "Instance"}, document["schemas"])) == [
        ".disks[0].boot: no boolean",
        ".id: no string",
        ".nonsense: not in the document",
        ".status: 'BORED' is none of its words",
    ]


KINDS = ("networks", "subnetworks", "firewalls", "addresses", "disks", "instances")


def live(google: GoogleFake) -> None:
    """What the modules make, by the stand-in."""
    kinds = stand_in(google)
    network = kinds["google_compute_network"].create({"name": "kedge", "routing_mode": "REGIONAL"})["id"]
    subnetwork = kinds["google_compute_subnetwork"].create(
        {"name": "kedge", "network": network, "region": HOME, "ip_cidr_range": "10.20.0.0/24", "description": "x"}
    )["id"]
    rule = {"name": "members", "network": network, "source_tags": ["kafka"], "target_tags": ["kafka"]}
    kinds["google_compute_firewall"].create(rule | {"allow": [{"protocol": "tcp", "ports": ["9092"]}]})
    kinds["google_compute_address"].create(
        {
            "name": "c-0",
            "region": HOME,
            "address_type": "INTERNAL",
            "purpose": "GCE_ENDPOINT",
            "subnetwork": subnetwork,
            "description": "kedge test c0ffee c-0",
        }
    )
    own = {"kedge-installation": "test", "kedge-cluster-uid": "c0ffee", "kedge-region": HOME, "kedge-node": "c-0"}
    labels = {**own, "kedge-dir": "data", "kedge-version": "1"}
    disk = kinds["google_compute_disk"].create(
        {"name": "data", "zone": ZONE, "type": "pd-balanced", "size": 10, "labels": labels}
    )["id"]
    image = {"image": f"projects/{PROJECT}/global/images/kafka-1", "type": "pd-balanced", "labels": own}
    machine = kinds["google_compute_instance"].create(
        {
            "name": "vm",
            "zone": ZONE,
            "machine_type": "n2d-standard-2",
            "labels": {**own, "kedge-generation": "1", "kedge-intent": "i"},
            "tags": ["kafka"],
            "metadata": {"user-data": "{}"},
            "boot_disk": [{"auto_delete": True, "initialize_params": [image]}],
            "network_interface": [{"subnetwork": subnetwork, "network_ip": None}],
            "shielded_instance_config": [{"enable_secure_boot": True, "enable_vtpm": True}],
        }
    )["id"]
    kinds["google_compute_attached_disk"].create({"instance": machine, "disk": disk, "device_name": "data-v1"})


def die(google: GoogleFake, cloud: GoogleCloud, vm: str) -> None:
    """All of it again, the VM by the SDK at last."""
    kinds, region = stand_in(google), f"projects/{PROJECT}/regions/{HOME}"
    machine, disk = f"projects/{PROJECT}/zones/{ZONE}/instances/vm", f"projects/{PROJECT}/zones/{ZONE}/disks/data"
    kinds["google_compute_attached_disk"].delete({"instance": machine, "disk": disk})
    cloud.terminate(PLACE, vm)
    (operation,) = google.world.pending
    google.world.look(operation)
    google.world.look(operation)
    kinds["google_compute_instance"].delete({"id": machine})
    for kind, path in (
        ("google_compute_disk", disk),
        ("google_compute_address", f"{region}/addresses/c-0"),
        ("google_compute_firewall", f"projects/{PROJECT}/global/firewalls/members"),
        ("google_compute_subnetwork", f"{region}/subnetworks/kedge"),
        ("google_compute_network", f"projects/{PROJECT}/global/networks/kedge"),
    ):
        kinds[kind].delete({"id": path})
    assert google.world.things == {}


def stand_in(google: GoogleFake) -> Mapping[str, Any]:
    config = {
        "access_token": "ya29.test",
        "compute_custom_endpoint": f"{google.url}/compute/v1/",
        "project": PROJECT,
        "region": HOME,
    }
    return open_stand_in(config, threading.Event()).kinds


def misfits(value: Any, schema: Schema, schemas: Mapping[str, Schema], at: str = "") -> Iterator[str]:
    """Where a value is not as its schema says: another type, a word it has not, a part it does not know."""
    if "$ref" in schema:
        yield from misfits(value, schemas[schema["$ref"]], schemas, at)
        return
    kind = schema.get("type", "any")
    if kind != "any" and (not isinstance(value, _TYPES[kind]) or (kind != "boolean" and isinstance(value, bool))):
        yield f"{at}: no {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of its words"
    if schema.get("format") in ("int64", "uint64") and not re.fullmatch(r"-?\d+", value):
        yield f"{at}: {value!r} is not a number"
    if kind == "array":
        for n, each in enumerate(value):
            yield from misfits(each, schema["items"], schemas, f"{at}[{n}]")
    elif kind == "object":
        for name, each in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner is None:
                yield f"{at}.{name}: not in the document"
            else:
                yield from misfits(each, inner, schemas, f"{at}.{name}")
