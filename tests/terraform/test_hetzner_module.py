"""The module for Hetzner under the provider it pins: valid, and bad values are refused before any call is made."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.hetznerlife import MODULES, VERSION, initialised_copy, terraform

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE = MODULES / "hetzner"
CLOUD = {
    "network": "1",
    "node_network": "2",
    "member_range": "10.1.0.0/24",
    "node_range": "10.1.1.0/24",
    "subnet_fsn1": "10.0.0.0/24",
}


def text(name: str) -> str:
    return (MODULE / name).read_text()


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after `init`, with the provider that `make setup` built."""
    return initialised_copy(MODULE, tmp_path_factory.mktemp("hetzner"))


def test_the_provider_is_pinned_exactly() -> None:
    assert f'version = "{VERSION}"' in text("versions.tf")


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    assert re.findall(r"^data ", code, flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code) == []


def test_everything_that_exists_is_frozen() -> None:
    code = "\n".join(path.read_text() for path in MODULE.glob("*.tf"))
    made = re.findall(r'^resource "\w+" "(\w+)" {\n(.*?)^}', code, flags=re.MULTILINE | re.DOTALL)
    assert len(made) == 7
    assert [name for name, body in made if "ignore_changes = all" not in body] == []


def test_no_vm_has_a_public_address_but_who_asks_for_it() -> None:
    asked = r"public_net {\s+ipv4_enabled = each.value.public_address\s+ipv6_enabled = each.value.ipv6\s+}"
    assert re.search(asked, text("instances.tf"))


def test_the_module_is_valid_under_the_real_provider(initialised: Path) -> None:
    done = terraform(initialised, "validate", "-no-color", "-json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, told["valid"], told["error_count"], told["warning_count"]) == (0, True, 0, 0)


def test_wrong_values_are_refused_before_anything_is_asked(initialised: Path) -> None:
    instance = {
        "node": "b-0",
        "generation": 1,
        "zone": "fsn1",
        "shape": "ccx13",
        "image": "debian-12",
        "intent_id": "",
        "boot_data": "x" * 32769,
        "address": None,
        "tags": {},
    }
    wrong = {
        "installation_id": "No Spaces",
        "cluster_uid": "../up",
        "cluster_name": "",
        "region": "A",
        "instances": {"wrong-key": instance},
        "volumes": {"b-0.data.v2": {**_volume(), "version": 1, "size_gib": 9}},
        "addresses": {"c-0": {"zone": "fsn1", "address": None}},
    }
    told = refused(initialised, wrong | {"cloud": CLOUD})
    for words in (
        "installation_id: 1-63",
        "cluster_uid: 1-63",
        "cluster_name: 1-63",
        "region: a-z",
        "<node>.g<generation>",
        "every VM carries its intent id",
        "a name could mean another one tomorrow",
        "at most 32 KiB",
        "<node>.<dir>.v<version>",
        "size_gib must be 10 to 10240",
        "Hetzner chooses none",
    ):
        assert words in told, words


def test_values_that_do_not_fit_each_other_are_refused_too(initialised: Path) -> None:
    # A rule that looks at other variables is not judged while those are wrong, hence a plan of its own.
    wrong = {
        **good(),
        "cloud": {
            "network": "all",
            "member_range": "wide",
            "label_kedge-cluster-name": "not a label!",
            "placement_group_b-0.g1": "spread",
        },
        "attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}},
        "bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}},
    }
    told = refused(initialised, wrong)
    for words in (
        "must be ids of networks",
        "must be subnets of the node network",
        "at most 63 letters",
        "the id of a placement group",
        "both the instance and the volume must be in the rendered set",
        "the node's address must be in the rendered set",
    ):
        assert words in told, words


def test_a_name_is_a_host_name_and_never_anothers(initialised: Path) -> None:
    def names(**more: str) -> list[str]:
        node = "brokers-of-a-pool-with-a-very-long-name-indeed-and-then-some-0"
        instances = {f"{node}.g{n}": _instance(node, n) for n in (1, 2)}
        (initialised / "x.auto.tfvars.json").write_text(json.dumps({**good(), **more, "instances": instances}))
        done = terraform(initialised, "plan", "-no-color", "-input=false", "-refresh=false", HCLOUD_TOKEN="t" * 64)
        assert done.returncode == 0, done.stderr
        return re.findall(r'^\s+\+ name\s+= "(.*)"$', done.stdout, flags=re.MULTILINE)

    made = [*names(), *names(cluster_uid="another"), *names(installation_id="another")]
    assert len(set(made)) == len(made) == 6
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in made)


def good() -> dict[str, Any]:
    return {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "eu-central",
        "cloud": CLOUD,
    }


def refused(directory: Path, variables: dict[str, Any]) -> str:
    """What a plan with these values ends with."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())


def _instance(node: str, generation: int) -> dict[str, Any]:
    return {
        "node": node,
        "generation": generation,
        "zone": "fsn1",
        "shape": "ccx13",
        "image": "4711",
        "intent_id": "why",
        "boot_data": "{}",
        "address": None,
        "tags": {},
    }


def _volume() -> dict[str, Any]:
    return {"node": "b-0", "dir": "data", "version": 1, "zone": "fsn1", "kind": "persistent", "size_gib": 10}
