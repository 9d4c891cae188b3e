"""Types and prices before the fake clouds, in the shapes of the vendors' references; the prices are nobody's.

Hetzner: `GET /pricing` and `prices` of server types, as in hcloud 2.27.0 and the reference's `Price` (net and gross as
text). DigitalOcean: `GET /v2/sizes`, as in pydo 0.44.0. AWS: GetProducts, as botocore's model of `pricing` has it, with
products shaped as in AWS's price list.
"""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.clouds.aws import MotoCloud
from tests.fakes.clouds.digitalocean import DigitaloceanFake
from tests.fakes.clouds.digitalocean_http import Answer as DigitaloceanAnswer
from tests.fakes.clouds.hetzner import FakeHetzner
from tests.fakes.clouds.hetzner_objects import LOCATIONS, TYPES, location, server_type
from tests.fakes.clouds.loopback import Answer as HetznerAnswer

AWS_PAGE = 2
"""Products to a page, so that a reader of one page is found out."""


def sells_hetzner(fake: FakeHetzner, *, dearer: str = "hel1") -> None:
    """Every type at 0.05 an hour and 30 a month, a tenth more in one location; a GB of volume at 0.05. `cpx31` is sold
    and shipped nowhere, `cx11` is going away."""

    def answer(method: str, path: str, token: str, body: bytes) -> HetznerAnswer:
        asked = urlsplit(path).path.removeprefix("/v1")
        if asked not in ("/pricing", "/locations", "/server_types"):
            return fake.answer(method, path, token, body)
        with fake.lock:
            fake.calls[f"{method} {asked}"] += 1
        answers: dict[str, dict[str, Any]] = {
            "/pricing": {
                "pricing": {
                    "currency": "EUR",
                    "vat_rate": "19.00",
                    "volume": {"price_per_gb_month": _net("0.05")},
                    "primary_ips": [_address("ipv4", "0.5", "0.6", dearer), _address("ipv6", "0.01", "0.02", dearer)],
                }
            },
            "/locations": {"locations": [location(name) for name in LOCATIONS], **_ONE_PAGE},
            "/server_types": {
                "server_types": [*(_sold_type(name, dearer) for name in TYPES), *_others()],
                **_ONE_PAGE,
            },
        }
        return 200, {"Content-Type": "application/json"}, json.dumps(answers[asked]).encode()

    fake.answering = answer


def sells_digitalocean(fake: DigitaloceanFake, *, pages: int = 1) -> None:
    """Size g-2vcpu-8gb in nyc3 only, g-4vcpu-16gb nowhere, behind `pages - 1` full pages of sizes nobody knows."""
    others = [_size(f"x-{n}", ["nyc3"]) for n in range(200 * (pages - 1))]
    more = [_size("m-2vcpu-16gb", ["nyc3"]), _size("gpu-h100x1-80gb", ["nyc3"])]
    gone = {**_size("m-4vcpu-32gb", ["nyc3"]), "available": False}
    sizes = [
        *others,
        _size("g-2vcpu-8gb", ["nyc3"]),
        _size("g-4vcpu-16gb", []),
        *(() if pages > 1 else (*more, gone)),
    ]

    def answer(method: str, target: str, headers: dict[str, str], body: bytes) -> DigitaloceanAnswer:
        if urlsplit(target).path != "/v2/sizes":
            return fake.answer(method, target, headers, body)
        asked = dict(parse_qsl(urlsplit(target).query))
        page, size = int(asked.get("page", "1")), int(asked.get("per_page", "20"))
        with fake.lock:
            fake.calls["GET /v2/sizes"] += 1
        return 200, {}, {"sizes": sizes[(page - 1) * size : page * size], "links": {}, "meta": {"total": len(sizes)}}

    fake.answering = answer


def sells_aws(aws: MotoCloud, *, refuses: bool = False) -> list[dict[str, str]]:
    """Types as moto has them. m7g.large at 0.10 an hour with a reserved twin at 0, m7g.xlarge at two prices at once,
    gp3 at 0.08.

    Returns the filters of each call, as they come.
    """
    asked: list[dict[str, str]] = []

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        target = {name.lower(): value for name, value in headers.items()}.get("x-amz-target", "")
        if target != "AWSPriceListService.GetProducts":
            return aws.answer(method, path, headers, body)
        if refuses:
            denied = {"__type": "AccessDeniedException", "Message": "not authorized to perform: pricing:GetProducts"}
            return 400, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(denied).encode()
        given = json.loads(body)
        filters = {one["Field"]: one["Value"] for one in given["Filters"]}
        asked.append(filters)
        found, start = _products(filters), int(given.get("NextToken", "0"))
        more = {"NextToken": str(start + AWS_PAGE)} if start + AWS_PAGE < len(found) else {}
        page = [json.dumps(one) for one in found[start : start + AWS_PAGE]]
        told = {"FormatVersion": "aws_v1", "PriceList": page, **more}
        return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(told).encode()

    aws.answering = answer
    return asked


_ONE_PAGE = {
    "meta": {
        "pagination": {
            "page": 1,
            "per_page": 50,
            "previous_page": None,
            "next_page": None,
            "last_page": 1,
            "total_entries": 6,
        }
    }
}


def _net(amount: str) -> dict[str, str]:
    return {"net": amount, "gross": f"{amount}9"}


def _address(kind: str, monthly: str, dear: str, dearer: str) -> dict[str, Any]:
    prices = [
        {
            "location": one,
            "price_hourly": _net("0.0001"),
            "price_monthly": _net(dear if one == dearer else monthly),
        }
        for one in LOCATIONS
    ]
    return {"type": kind, "prices": prices}


def _sold_type(name: str, dearer: str) -> dict[str, Any]:
    prices = [
        {
            "location": one,
            "price_hourly": _net("0.055" if one == dearer else "0.05"),
            "price_monthly": _net("33" if one == dearer else "30"),
        }
        for one in LOCATIONS
    ]
    return {**server_type(name), "prices": prices}


def _others() -> list[dict[str, Any]]:
    sold = _sold_type("ccx13", "")
    going = {"announced": "2026-01-01T00:00:00+00:00", "unavailable_after": "2027-01-01T00:00:00+00:00"}
    new = {**sold, "id": 90, "name": "cpx31", "cores": 4, "memory": 8.0, "disk": 160}
    told = {"available": True, "recommended": False}
    gone = [{"id": 1 + n, "name": one, "deprecation": going, **told} for n, one in enumerate(LOCATIONS)]
    return [new, {**sold, "id": 91, "name": "cx11", "locations": gone}]


def _size(slug: str, regions: list[str]) -> dict[str, Any]:
    return {
        "slug": slug,
        "memory": 8192,
        "vcpus": 2,
        "disk": 25,
        "transfer": 4.0,
        "price_monthly": 63.0,
        "price_hourly": 0.09375,
        "regions": regions,
        "available": True,
        "description": "General Purpose",
    }


def _products(filters: dict[str, str]) -> list[dict[str, Any]]:
    if filters.get("volumeApiName") == "gp3":
        return [_product("GB-Mo", "0.0800000000")]
    amounts = {"m7g.large": ["0.1000000000", "0.0000000000", "0.1000000000"], "m7g.xlarge": ["0.2", "0.3"]}
    wanted = [filters["instanceType"]] if "instanceType" in filters else list(amounts)
    return [_product("Hrs", amount, name) for name in wanted for amount in amounts.get(name, [])]


def _product(unit: str, usd: str, name: str = "") -> dict[str, Any]:
    dimension = {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": usd}, "appliesTo": []}
    term = {"priceDimensions": {"SKU.JRTCKXETXF.6YS6EN2CT7": dimension}, "sku": "SKU", "termAttributes": {}}
    product = {"sku": "SKU", "attributes": {"instanceType": name} if name else {}}
    return {"serviceCode": "AmazonEC2", "product": product, "terms": {"OnDemand": {"SKU.JRTCKXETXF": term}}}
