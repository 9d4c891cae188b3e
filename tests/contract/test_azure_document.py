"""The fake's answers are held to Microsoft's own description of the API; what is newer than that is listed by name.

The description that is public in a package is of 2019-03-01 (`azure_document.json` says where from). The SDK speaks of
2026; the fields it has since then, and the fake uses, are in `NEWER` and in tests/fakes/clouds/differences.md.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.fakes.clouds.azure_hands import AzureHarness, azure_harness
from tests.fakes.resources import address, attachment, binding, instance, resources, volume

CLOUDS = Path(__file__).parents[1] / "fakes" / "clouds"
DOCUMENT: dict[str, Any] = json.loads((CLOUDS / "azure_document.json").read_text())
NEWER = {
    "VirtualMachine.timeCreated",
    "Disk.diskState",
}
API = "api-version=2026-04-01"
COMPUTE = "Microsoft.Compute"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureHarness]:
    with azure_harness(tmp_path, monkeypatch) as opened:
        opened.create(
            resources(
                instance("b-0"),
                volume("b-0"),
                attachment("b-0.g1", "b-0.data.v1"),
                instance("c-0"),
                address("c-0"),
                binding("c-0", "c-0.g1"),
            )
        )
        yield opened


def asked(bench: AzureHarness, path: str, query: str = "") -> Any:
    status, _, body = bench.azure.answer("GET", f"{path}?{API}{query}", {"Authorization": "Bearer x"}, b"")
    assert status == 200
    return json.loads(body)


def unknown(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """Fields that the description does not have, as `VirtualMachine.timeCreated`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema, where = DOCUMENT["$defs"][name], name.removesuffix("Properties")
    if isinstance(value, list):
        for each in value:
            yield from unknown(each, schema.get("items", {}), where)
    elif isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            known = schema["properties"].get(name)
            if known is None:
                yield f"{where}.{name}"
            else:
                yield from unknown(inner, known, where)


def holds(value: Any, name: str) -> None:
    """Types and required fields as described, and no field that is neither described nor listed."""
    jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": DOCUMENT["$defs"]}).validate(value)
    assert set(unknown(value, {"$ref": f"#/$defs/{name}"}, name)) <= NEWER


def test_a_vm_is_as_described(bench: AzureHarness) -> None:
    machine = asked(bench, bench.id_of("b-0.g1"), "&$expand=instanceView")
    holds(machine, "VirtualMachine")
    assert machine["properties"]["storageProfile"]["dataDisks"]
    holds(machine["properties"]["instanceView"], "VirtualMachineInstanceView")


@pytest.mark.parametrize("query", ["", "&statusOnly=true"], ids=["models", "states"])
def test_a_listing_of_vms_is_as_described(bench: AzureHarness, query: str) -> None:
    bench.azure.page = 1
    told = asked(bench, f"/subscriptions/{bench.azure.account}/providers/{COMPUTE}/virtualMachines", query)
    holds(told, "VirtualMachineListResult")
    assert told["nextLink"].startswith(bench.azure.url)
    for machine in told["value"]:
        holds(machine, "VirtualMachine")


def test_disks_are_as_described(bench: AzureHarness) -> None:
    told = asked(bench, f"/subscriptions/{bench.azure.account}/providers/{COMPUTE}/disks")
    holds(told, "DiskList")
    assert len(told["value"]) == 3
    for disk in told["value"]:
        holds(disk, "Disk")


def test_usages_and_sizes_of_a_region_are_as_described(bench: AzureHarness) -> None:
    here = f"/subscriptions/{bench.azure.account}/providers/{COMPUTE}/locations/westeurope"
    holds(asked(bench, f"{here}/usages"), "ListUsagesResult")
    holds(asked(bench, f"{here}/vmSizes"), "VirtualMachineSizeListResult")


def test_planned_maintenance_is_as_described(bench: AzureHarness) -> None:
    vm = bench.id_of("b-0.g1")
    bench.azure.things.by_id[vm.lower()]["announced"] = {"maintenanceWindowStartTime": "2026-12-01T03:00:00Z"}
    view = asked(bench, vm, "&$expand=instanceView")["properties"]["instanceView"]
    assert view["maintenanceRedeployStatus"]
    holds(view, "VirtualMachineInstanceView")


def test_what_is_newer_than_the_description_is_written_down() -> None:
    page = (CLOUDS / "differences.md").read_text()
    section = page.split("## Azure (")[1].split("\n## ")[0]
    for field in NEWER:
        assert f"`{field}`" in section
