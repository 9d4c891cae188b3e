"""What Azure, Google and UpCloud say of prices: answers put before the fakes, in the words of the vendors' documents.

Azure: "Azure Retail Prices overview" (Items, NextPageLink). Google: cloudbilling.v1 (`Sku`). UpCloud: "List prices".
"""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.clouds.azure import AzureCloudFake
from tests.fakes.clouds.google import GoogleFake
from tests.fakes.clouds.upcloud import UpcloudServer

AZURE_PAGE = 2
GOOGLE_PAGE = 3

Answered = tuple[int, dict[str, str], bytes]


def sells_azure(azure: AzureCloudFake) -> list[str]:
    """Standard_D2s_v5 at 0.096 an hour beside Windows and spot; D4s_v5 at two prices. P4 at 5 and P10 at 20 a month
    beside zone-redundant ones and mounts, P15 at two prices. Gives the filters as asked."""
    asked: list[str] = []

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        url = urlsplit(path)
        if url.path.endswith("/providers/Microsoft.Compute/skus"):
            assert dict(parse_qsl(url.query))["$filter"] == "location eq 'westeurope'"
            return 200, {"Content-Type": "application/json"}, json.dumps({"value": AZURE_SKUS}).encode()
        if url.path != "/api/retail/prices":
            return azure.answer(method, path, headers, body)
        assert "Authorization" not in headers, "the list is public"
        query = dict(parse_qsl(url.query))
        asked.append(query["$filter"])
        of_disks = "productName eq 'Premium SSD Managed Disks'" in query["$filter"]
        items = (_DISKS if of_disks else _AZURE) if "armRegionName eq 'westeurope'" in query["$filter"] else []
        start = int(query.get("$skip", 0))
        more = f"{azure.url}{path}&$skip={start + AZURE_PAGE}" if start + AZURE_PAGE < len(items) else None
        told = {"BillingCurrency": "USD", "Items": items[start : start + AZURE_PAGE], "NextPageLink": more}
        return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()

    azure.answering = answer
    return asked


def sells_google(google: GoogleFake, *, disabled: bool = False) -> None:
    """N2D in europe-west1: 0.03 a core and 0.004 a GiB an hour; balanced disks at 0.11; N2 with two prices a core."""

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        url = urlsplit(path)
        if url.path.endswith("/machineTypes"):
            zone = url.path.split("/")[-2]
            told = {"kind": "compute#machineTypeList", "items": [one for one in GOOGLE_TYPES if one["zone"] == zone]}
            return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
        if not url.path.startswith("/v1/services/"):
            return google.answer(method, path, headers, body)
        google.calls["skus.list"] += 1
        if disabled:
            words = "Cloud Billing API has not been used in project 1 before or it is disabled."
            error = {"code": 403, "message": words, "errors": [{"reason": "accessNotConfigured", "message": words}]}
            return 403, {"Content-Type": "application/json"}, json.dumps({"error": error}).encode()
        start = int(dict(parse_qsl(url.query)).get("pageToken", 0))
        more = str(start + GOOGLE_PAGE) if start + GOOGLE_PAGE < len(GOOGLE_SKUS) else ""
        told = {"skus": GOOGLE_SKUS[start : start + GOOGLE_PAGE], "nextPageToken": more}
        return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()

    google.answering = answer


def sells_upcloud(upcloud: UpcloudServer) -> None:
    """Plan 2xCPU-4GB in fi-hel1 at 3.869 credits an hour, maxiops at 0.031 a GB; nothing in de-fra1."""

    plan, disk = {"amount": 1, "price": 3.869}, {"amount": 1, "price": 0.031}
    here = {"name": "fi-hel1", "server_plan_2xCPU-4GB": plan, "storage_maxiops": disk}
    upcloud.prices = [here, {"name": "de-fra1"}]


def _item(
    sku: str, price: float, *, product: str = "Virtual Machines Dsv5 Series", name: str = "D2s v5"
) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": "westeurope",
        "location": "EU West",
        "effectiveStartDate": "2026-01-01T00:00:00Z",
        "meterName": name,
        "productName": product,
        "skuName": name,
        "serviceName": "Virtual Machines",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": sku,
    }


_AZURE = [
    _item("Standard_D2s_v5", 0.188, product="Virtual Machines Dsv5 Series Windows"),
    _item("Standard_D2s_v5", 0.02, name="D2s v5 Spot"),
    _item("Standard_D2s_v5", 0.03, name="D2s v5 Low Priority"),
    _item("Standard_D2s_v5", 0.096),
    _item("Standard_D4s_v5", 0.192),
    _item("Standard_D4s_v5", 0.2),
]


def _disk(tier: str, price: float, *, of: str = "LRS", what: str = "Disk", unit: str = "1/Month") -> dict[str, Any]:
    name = f"{tier} {of}"
    told = _item("", price, product="Premium SSD Managed Disks", name=name)
    return {**told, "meterName": f"{name} {what}", "serviceName": "Storage", "unitOfMeasure": unit}


_DISKS = [
    _disk("P4", 5.0),
    _disk("P4", 7.5, of="ZRS"),
    _disk("P4", 0.3, what="Disk Mount"),
    _disk("P10", 20.0),
    _disk("P10", 0.02, unit="1/Hour"),
    _disk("P15", 38.0),
    _disk("P15", 39.0),
    _disk("P99", 1.0),
]


def _azure_sku(name: str, *, processor: str | None = "x64", barred: str = "", **more: str) -> dict[str, Any]:
    told = {"vCPUs": "8", "MemoryGB": "64", **({"CpuArchitectureType": processor} if processor else {}), **more}
    barring = {"type": barred, "values": ["westeurope"], "reasonCode": "NotAvailableForSubscription"}
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "tier": "Standard",
        "locations": ["westeurope"],
        "capabilities": [{"name": key, "value": value} for key, value in told.items()],
        "restrictions": [barring] if barred else [],
    }


AZURE_SKUS = [
    _azure_sku("Standard_E8s_v5"),
    _azure_sku("Standard_E8ps_v5", processor="Arm64", MemoryGB="3.5"),
    _azure_sku("Standard_E8s_v4", barred="Location"),
    _azure_sku("Standard_E8as_v5", barred="Zone"),
    _azure_sku("Standard_NC8", GPUs="1"),
    _azure_sku("Standard_A8_v2", processor=None),
    {"resourceType": "disks", "name": "Premium_LRS", "capabilities": [], "restrictions": []},
]
"""Shaped as "Resource Skus - List": one that is shipped is not needed among them, prices name it."""


def _google_type(name: str, architecture: str, zone: str = "europe-west1-b", **more: Any) -> dict[str, Any]:
    told = {"kind": "compute#machineType", "name": name, "guestCpus": 8, "memoryMb": 65536, "zone": zone}
    return {**told, **({"architecture": architecture} if architecture else {}), **more}


GOOGLE_TYPES = [
    _google_type("n2d-standard-2", "X86_64", guestCpus=2, memoryMb=8192),
    _google_type("n2d-custom-8", "X86_64"),
    _google_type("c4a-highmem-8", "ARM64", zone="europe-west1-c"),
    _google_type("z3-highmem-8", "X86_64", bundledLocalSsds={"defaultInterface": "NVME", "partitionCount": 2}),
    _google_type(
        "a2-highgpu-1g", "X86_64", accelerators=[{"guestAcceleratorType": "a100", "guestAcceleratorCount": 1}]
    ),
    _google_type("n1-standard-8", "X86_64", deprecated={"state": "DEPRECATED"}),
    _google_type("n2d-odd-8", ""),
]


def _sku(description: str, nanos: int, *, usage: str = "OnDemand", region: str = "europe-west1") -> dict[str, Any]:
    free = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": nanos}}
    return {
        "name": f"services/6F81-5844-456A/skus/{abs(nanos):04X}-0000-0000",
        "skuId": f"{abs(nanos):04X}-0000-0000",
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": "Compute",
            "resourceGroup": "CPU",
            "usageType": usage,
        },
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "summary": "",
                "pricingExpression": {"usageUnit": "h", "displayQuantity": 1, "tieredRates": [free]},
                "currencyConversionRate": 1,
                "effectiveTime": "2026-11-01T00:00:00Z",
            }
        ],
        "serviceProviderName": "Google",
    }


GOOGLE_SKUS = [
    _sku("N2D AMD Instance Core running in Belgium", 30_000_000),
    _sku("N2D AMD Instance Ram running in Belgium", 4_000_000),
    _sku("Spot Preemptible N2D AMD Instance Core running in Belgium", 5_000_000, usage="Preemptible"),
    _sku("N2D AMD Instance Core running in Netherlands", 31_000_000, region="europe-west4"),
    _sku("N2 Instance Core running in Belgium", 33_000_000),
    _sku("N2 Instance Core running in Belgium", 34_000_000),
    _sku("N2 Instance Ram running in Belgium", 4_500_000),
    _sku("Balanced PD Capacity in Belgium", 110_000_000),
]
