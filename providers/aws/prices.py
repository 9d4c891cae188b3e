"""Types as EC2 tells them, prices as AWS's price list does: on demand, Linux, shared tenancy, in US dollars.

Every type of virtual machine on Nitro is listed that has no processor beside its CPUs; an older one, or one of bare
metal, only where the catalogue has it. (`current-generation` would leave out types that are sold and used everywhere.)
The price list answers in few regions (botocore: us-east-1, eu-central-1, ap-south-1) for all, a hundred products to a
page. It needs `pricing:GetProducts`; the types need `ec2:DescribeInstanceTypes`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from botocore.config import Config

from providers.aws.access import AwsAccess
from providers.aws.errors import translated
from providers.aws.session import session_of
from providers.aws.settings import AwsSettings
from providers.base import Place
from providers.catalog_file import sold_by
from providers.overrides import RegionIn

_PRICES_IN = "us-east-1"
_ON_DEMAND = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}

_ARCHITECTURES = ("arm64", "x86_64")

Product = Mapping[str, Any]


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """Asks with the credentials of the place's account. Raises `ProviderError`."""
    settings = AwsSettings.read(settings_file)
    ec2 = AwsAccess(settings, attempts=3).ec2(place)
    with translated(f"{place}: types"):
        known = _types(ec2, {"instance-type": list(sold_by("aws").raw["machines"])})
        plain = {"hypervisor": ["nitro"], "bare-metal": ["false"]}
        each = [_types(ec2, {**plain, "processor-info.supported-architecture": [one]}) for one in _ARCHITECTURES]
        offered = [told for found in each for told in found if _is_for_kafka(told)]
        types = list({str(told["InstanceType"]): told for told in (*offered, *known)}.values())
    with translated(f"{place}: prices"):
        pricing = _pricing(settings, place)
        machines: dict[str, list[Product]] = {}
        for product in _products(pricing, {**_ON_DEMAND, "regionCode": place.region}):
            name = str(product.get("product", {}).get("attributes", {}).get("instanceType", ""))
            machines.setdefault(name, []).append(product)
        volumes = list(
            _products(pricing, {"productFamily": "Storage", "volumeApiName": "gp3", "regionCode": place.region})
        )
    images = sorted({image for by in settings.region(place).images.values() for image in by.values()})
    with translated(f"{place}: images"):
        # Asked for by a filter: one that is gone is left out, and is no error.
        found = ec2.describe_images(Filters=[{"Name": "image-id", "Values": images}])["Images"] if images else []
    return region_prices(types, machines, volumes, root_disks_gib(found), today=today)


def root_disks_gib(images: Iterable[Mapping[str, Any]]) -> int | None:
    """What root disks get: the size images ask for, where all of the region do alike. Pure."""
    sizes = {
        int(mapped["Ebs"]["VolumeSize"])
        for image in images
        for mapped in image.get("BlockDeviceMappings", ())
        if mapped.get("DeviceName") == image.get("RootDeviceName") and "VolumeSize" in mapped.get("Ebs", {})
    }
    return sizes.pop() if len(sizes) == 1 else None


def region_prices(
    types: Iterable[Mapping[str, Any]],
    products: Mapping[str, Iterable[Product]],
    volumes: Iterable[Product],
    root_gib: int | None = None,
    *,
    today: date,
) -> RegionIn:
    """From answers to figures. `products` by type. A price is taken only where all products agree on it. Pure."""
    source = f"aws-api-{today}"
    machines: dict[str, dict[str, object]] = {}
    for told in types:
        name = str(told["InstanceType"])
        figures = {k: {"value": str(v), "source": source} for k, v in _figures(told).items() if v is not None}
        processor = {"architecture": found} if (found := _architecture(told)) else {}
        machines[name] = {**processor, **figures, **_priced("price_per_hour", products.get(name, ()), "Hrs", source)}
    persistent = _priced("price_per_gib_month", volumes, "GB-Mo", source)
    what = (
        "AWS: DescribeInstanceTypes; price list, on demand, Linux, shared tenancy; gp3 without more IOPS or "
        "throughput; DescribeImages of those of aws.yaml for the size of root disks"
    )
    return RegionIn.model_validate(
        {
            "sources": {source: {"what": what, "read": today}},
            "machines": machines,
            "disks": {"persistent": persistent} if persistent else {},
            "root_disk": {"gib": {"value": root_gib, "source": source}} if root_gib is not None else {},
        }
    )


def _types(ec2: Any, filters: Mapping[str, list[str]]) -> list[Mapping[str, Any]]:
    """Those of the region, all pages."""
    wanted = [{"Name": name, "Values": values} for name, values in filters.items()]
    pages = ec2.get_paginator("describe_instance_types").paginate(Filters=wanted)
    return [told for page in pages for told in page["InstanceTypes"]]


def _is_for_kafka(told: Mapping[str, Any]) -> bool:
    beside = ("GpuInfo", "FpgaInfo", "InferenceAcceleratorInfo", "NeuronInfo", "MediaAcceleratorInfo")
    return bool(_architecture(told)) and not any(told.get(one) for one in beside)


def _architecture(told: Mapping[str, Any]) -> str:
    """Empty where EC2 tells none that a VM of ours could have, or several: which one an image is for is not known."""
    found = set(_ARCHITECTURES) & set(told.get("ProcessorInfo", {}).get("SupportedArchitectures", ()))
    return found.pop() if len(found) == 1 else ""


def _own_disk_gb(told: Mapping[str, Any]) -> object:
    if told.get("InstanceStorageSupported") is False:
        return 0
    return told.get("InstanceStorageInfo", {}).get("TotalSizeInGB")


def _figures(told: Mapping[str, Any]) -> dict[str, object]:
    card = (told.get("NetworkInfo", {}).get("NetworkCards") or [{}])[0]
    volumes = told.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    return {
        "vcpus": told["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": told["MemoryInfo"]["SizeInMiB"],
        "nic_baseline_gbps": card.get("BaselineBandwidthInGbps"),
        "nic_burst_gbps": card.get("PeakBandwidthInGbps"),
        "volumes_mb_per_s": volumes.get("BaselineThroughputInMBps"),
        "own_disk_gb": _own_disk_gb(told),
    }


def _priced(name: str, products: Iterable[Product], unit: str, source: str) -> dict[str, object]:
    found = {amount for product in products for amount in _amounts(product, unit)}
    if len(found) != 1:
        return {}
    return {name: {"value": str(found.pop()), "currency": "USD", "source": source}}


def _amounts(product: Product, unit: str) -> Iterator[Decimal]:
    """Prices on demand of one product, those that are 0 left out: they are of hours already reserved."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            amount = Decimal(dimension["pricePerUnit"].get("USD", "0"))
            if dimension["unit"] == unit and amount:
                yield amount.normalize()


def _products(pricing: Any, fields: Mapping[str, str]) -> Iterator[Product]:
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in fields.items()]
    for page in pricing.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters):
        yield from (json.loads(told) for told in page["PriceList"])


def _pricing(settings: AwsSettings, place: Place) -> Any:
    endpoint = settings.endpoint_url
    return session_of(settings.account(place).profile).client(
        "pricing",
        region_name=_PRICES_IN,
        endpoint_url=str(endpoint) if endpoint else None,
        config=Config(connect_timeout=3.0, read_timeout=7.0, retries={"mode": "standard", "total_max_attempts": 3}),
    )
