"""Golden states of AWS: moto cannot be put back under the same ids, so what was asked of it is asked once more.

Beside a state are kept the calls that made what it holds, in moto's order, each with its answer. A fresh moto is asked
the same; where it answers with another id, address or MAC at the same spot, that one takes the old one's place in all
calls that follow, and in the state at the end. Nothing of moto's own storage is kept: another release of it will do.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
import yaml

from providers.base import Resources
from tests.fakes.clouds.aws import MotoCloud
from tests.fakes.clouds.aws_hands import REGION, AwsHarness
from tests.fakes.resources import resources
from tests.terraform.awslife import AwsBench, aws_bench

Call = dict[str, Any]
"""`asked`: the parameters of one call that changed something; `told`: what the answer named, in its order."""

_NAMES = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # keys
    r"|\b[a-z]+(?:-[a-z]+)?-[0-9a-f]{8,17}\b"  # vol-..., eni-attach-...
    r"|\bip-\d+-\d+-\d+-\d+\b"
    r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
    r"|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"
)
_READS = ("Describe", "Get")
_LISTINGS = ("DescribeInstances", "DescribeVolumes", "DescribeNetworkInterfaces")
"""Asked last: they name what the calls that make things do not tell, as root disks."""
NETWORK_LISTINGS = ("DescribeVpcs", "DescribeSecurityGroups", "DescribeRouteTables", "DescribeNetworkAcls")
"""The same for networks, as their default groups."""
_HEADERS = {
    "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/ec2/aws4_request, Signature=x",
    "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
}


@contextmanager
def golden_bench(folder: Path) -> Iterator[AwsBench]:
    """The vendor's provider on an empty moto. Skips the test where the machine has no provider."""
    with pytest.MonkeyPatch.context() as monkeypatch, aws_bench(folder, monkeypatch) as bench:
        yield bench


def rendered(bench: AwsBench, parts: Sequence[Any]) -> Resources:
    """The set of every golden state, as AWS has it."""
    return AwsHarness(bench.cloud, bench.aws).here(resources(*parts))


@contextmanager
def recording(aws: MotoCloud) -> Iterator[list[Call]]:
    """The calls that change something, as long as the block runs."""
    calls: list[Call] = []
    lock = threading.Lock()

    def answering(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        with lock:  # in moto's order: what is named later was made before
            told = aws.answer(method, path, headers, body)
            asked = dict(parse_qsl(body.decode(), keep_blank_values=True))
            if not asked.get("Action", "").startswith(_READS):
                calls.append({"asked": _readable(asked), "told": _named(told[2])})
        return told

    aws.answering = answering
    try:
        yield calls
    finally:
        aws.answering = None


def objects_of(bench: AwsBench, calls: Sequence[Call], listings: Sequence[str] = _LISTINGS) -> dict[str, Any]:
    """What is kept beside a state: the calls, and what stood before the first of them."""
    listed = [{"Action": action, "Version": "2016-11-15"} for action in listings]
    seen = [{"asked": asked, "told": _named(_ask(bench, asked))} for asked in listed]
    return {"calls": [*calls, *seen], "before": _before(bench)}


def put_back(bench: AwsBench, recorded: Mapping[str, Any], state: str) -> str:
    """Asks this bench's moto the same, and returns the state with the ids it gave.

    Raises ValueError where moto refuses a call, or answers with more or fewer names than it did.
    """
    new = dict(zip(recorded["before"], _before(bench), strict=True))
    for call in recorded["calls"]:
        asked = json.loads(_renamed(json.dumps(call["asked"]), new))
        new |= dict(zip(call["told"], _named(_ask(bench, asked)), strict=True))
    return _renamed(state, new)


def _ask(bench: AwsBench, asked: Mapping[str, str]) -> bytes:
    status, _, told = bench.aws.answer("POST", "/", dict(_HEADERS), urlencode(_wire(asked)).encode())
    if status != 200:
        raise ValueError(f"{asked['Action']} is refused: {told.decode()[:300]}")
    return told


def _before(bench: AwsBench) -> list[str]:
    """Subnets in the order of their zones, security groups, images: what `aws.yaml` names in the region."""
    region = yaml.safe_load(Path(bench.cloud.settings_file).read_text())["accounts"]["production"]["regions"][REGION]
    subnets = region.get("subnets", {})  # none where the network is Kedge's to make
    return [
        *(subnets[zone] for zone in sorted(subnets)),
        *region.get("security_groups", ()),
        region["images"]["4.1.1"]["arm64"],
    ]


def _named(answer: bytes) -> list[str]:
    """Each name once, where it is first."""
    return list(dict.fromkeys(_NAMES.findall(answer.decode())))


def _renamed(text: str, new: Mapping[str, str]) -> str:
    """In one pass: what was put in is never taken for an old name."""
    return _NAMES.sub(lambda found: new.get(found[0], found[0]), text)


def _readable(asked: Mapping[str, str]) -> dict[str, str]:
    """Boot data as a text: an id in it would be an accident, a path of a machine a mistake that a test finds."""
    return {k: base64.b64decode(v).decode() if k == "UserData" else v for k, v in asked.items()}


def _wire(asked: Mapping[str, str]) -> dict[str, str]:
    return {k: base64.b64encode(v.encode()).decode() if k == "UserData" else v for k, v in asked.items()}
