"""Public keys of an account's settings are in the boot data of its VMs, and nothing else of it changes."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.clouds.aws_hands import aws_harness
from tests.fakes.clouds.google_hands import google_harness
from tests.fakes.clouds.hetzner_hands import hetzner_harness
from tests.fakes.clouds.upcloud_hands import upcloud_harness
from tests.fakes.resources import instance, resources

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ada@example.com"
HARNESSES: dict[str, Callable[..., AbstractContextManager[Any]]] = {
    "aws": aws_harness,
    "google": google_harness,
    "hetzner": hetzner_harness,
    "upcloud": upcloud_harness,
}


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        yield opened


def test_keys_of_the_settings_are_in_the_boot_data_and_nothing_else_is_another(harness: Any) -> None:
    wanted = replace(resources(replace(instance("b-0"), zone=harness.zone("a"))), place=harness.place)
    harness.cloud.list_place(harness.place)
    plain = _boot_data(harness.cloud.variables(wanted))
    file = harness.cloud.settings_file
    told = yaml.safe_load(file.read_text())
    for account in told["accounts"].values():
        account["ssh_keys"] = [KEY]
    file.write_text(yaml.safe_dump(told))
    cloud = replace(harness.cloud)
    cloud.list_place(harness.place)
    assert _boot_data(cloud.variables(wanted)) == {**plain, "ssh_authorized_keys": [KEY]}


def _boot_data(variables: dict[str, Any]) -> dict[str, Any]:
    (made,) = variables["instances"].values()
    found: dict[str, Any] = json.loads(made["boot_data"].removeprefix("#cloud-config\n"))
    return found
