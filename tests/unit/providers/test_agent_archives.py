"""Agents of several architectures in `software`: each VM installs that of its machine, and what is missing is told."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from providers.agent_finding import of_agents
from providers.base import Place
from providers.catalog_file import sold_by
from providers.cloud_init import born_with, user_data
from providers.errors import PlaceUnknown
from providers.software import Software
from tests.fakes.resources import instance

ARM, X86 = "kedge-agent-0.1.0-cp311-aarch64.tar.gz", "kedge-agent-0.1.0-cp311-x86_64.tar.gz"


def download(name: str) -> dict[str, str]:
    return {"url": f"https://mirror.example/{name}", "sha256": "ab" * 32}


def told(agent: object) -> dict[str, Any]:
    return {"agent": agent, "kafka": {"4.2.0": download("kafka.tgz")}}


BOTH = Software.model_validate(told({"arm64": download(ARM), "x86_64": download(X86)}))


def installed(text: str) -> str:
    (file,) = [f for f in yaml.safe_load(text)["write_files"] if f["path"] == "/etc/kedge/software.json"]
    return str(json.loads(file["content"])["parts"][0]["url"])


@pytest.mark.parametrize("cloud", ["aws", "google", "azure", "digitalocean", "hetzner", "upcloud"])
def test_each_vm_installs_the_agent_of_its_machines_processor(cloud: str) -> None:
    machines = {sold_by(cloud).machine(name).architecture: name for name in sold_by(cloud).raw["machines"]}
    for architecture, name in machines.items():
        text = born_with(replace(instance("b-0"), shape=name, image="4.2.0"), BOTH, cloud=cloud)
        assert installed(text).endswith({"arm64": ARM, "x86_64": X86}[architecture])


def test_what_vms_are_born_with_is_to_the_letter_that_of_the_one_archive() -> None:
    alone = Software.model_validate(told(download(X86)))
    vm = replace(instance("b-0"), shape="m7i.large", image="4.2.0")
    assert born_with(vm, BOTH, cloud="aws") == born_with(vm, alone, cloud="aws")
    assert installed(user_data("{}", kafka_version="4.2.0", software=alone)).endswith(X86)


def test_a_machine_there_is_no_agent_for_is_not_rendered_and_the_command_is_told() -> None:
    only = Software.model_validate(told({"x86_64": download(X86)}))
    vm = replace(instance("b-0"), shape="small", image="4.2.0")
    with pytest.raises(
        PlaceUnknown, match=r"none for arm64 \(small\), it is for x86_64; `kedge agent-bundle --arch arm64`"
    ):
        born_with(vm, only, cloud="aws")


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ({"arm64": download(X86)}, r"agent.arm64: \S+ is built for x86_64 by its name"),
        ({}, "no archive is told"),
        ({"riscv64": download(X86)}, "riscv64"),
        ({"url": "https://mirror.example/a"}, "sha256"),
    ],
)
def test_a_slip_is_told_where_it_is(agent: object, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Software.model_validate(told(agent))


PLACE = Place("aws", "eu-west-1", "default")


def settings(agent: object, images: object) -> dict[str, Any]:
    regions = {"eu-west-1": {"images": images}}
    return {"accounts": {"default": {"regions": regions}}, "software": told(agent)}


def test_doctor_tells_which_agent_is_missing_where_there_are_images_for_its_processor() -> None:
    images = {"any": {"arm64": "ami-a", "x86_64": "ami-b"}}
    found = of_agents("aws", settings({"x86_64": download(X86)}, images), (PLACE,))
    assert found is not None
    well, words, what_next = found
    assert well is False
    assert "has one for x86_64, and none for arm64, of which there are images in aws/default/eu-west-1" in words
    assert "`kedge agent-bundle --arch arm64`" in what_next
    both = of_agents("aws", settings({"x86_64": download(X86), "arm64": download(ARM)}, images), (PLACE,))
    assert both == (True, "`software.agent` has one for arm64 and x86_64", "")


def test_doctor_names_the_neutral_sizes_that_find_no_agent_and_judges_no_image_that_says_nothing() -> None:
    found = of_agents("aws", settings(download(X86), {"any": {"any": "ami-a"}}), (PLACE,))
    assert found is not None
    assert (found[0], "small" in found[1], "of other processors and have none" in found[1]) == (True, True, True)
    nameless = of_agents("aws", settings(download("agent.tar.gz"), {}), (PLACE,))
    assert nameless is not None
    assert nameless[0] is None
    assert of_agents("aws", {"accounts": {}}, ()) is None
