"""The module for UpCloud, held against the provider's own attributes; bad values are refused before any call."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouds.upcloud import UpcloudServer, upcloud_cloud
from tests.standins.document import document_of
from tests.standins.mirror import pinned
from tests.terraform.standins import MODULES, terraform, validated_copy

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

MODULE = MODULES / "upcloud"
NETWORK = "03000000-0000-4000-8000-000000000001"
CLOUD = {"network": NETWORK, "encrypt": "true"}
NEEDED = {"installation_id": "test", "cluster_uid": "c0ffee", "cluster_name": "orders", "region": "fi-hel1"}
INSTANCE: dict[str, Any] = {
    "node": "b-0",
    "generation": 1,
    "zone": "fi-hel1-a",
    "shape": "2xCPU-4GB",
    "image": NETWORK,
    "intent_id": "i",
    "boot_data": "{}",
    "address": None,
    "tags": {},
}


def code() -> str:
    return "\n".join(path.read_text() for path in MODULE.glob("*.tf"))


def made() -> dict[str, str]:
    return dict(re.findall(r'^resource "\w+" "(\w+)" {\n(.*?)^}', code(), flags=re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module", params=["stand-in"])
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after `init` and `validate`: what the provider does not have, or misses, fails there."""
    return validated_copy(MODULE, tmp_path_factory.mktemp("upcloud"), "upcloud")


def test_the_provider_is_pinned_exactly_and_its_list_is_of_that_version() -> None:
    assert pinned("upcloud") == ("UpCloudLtd/upcloud", document_of("upcloud").source["provider"])


def test_nothing_is_asked_that_could_answer_differently_tomorrow() -> None:
    assert re.findall(r"^data ", code(), flags=re.MULTILINE) == []
    assert re.findall(r"\b(timestamp|uuid|plantimestamp)\(", code()) == []


def test_everything_that_exists_is_frozen() -> None:
    assert len(made()) == 7
    assert [name for name, body in made().items() if "ignore_changes = all" not in body] == []


def test_machines_are_reached_through_the_private_network_alone() -> None:
    server = made()["instance"]
    assert re.findall(r'type += "(\w+)"', server.partition("network_interface {")[2]) == ["private"]
    assert server.count("network_interface {") == 1
    assert "login {" not in server
    assert code().count('var.cloud["encrypt"] == "true"') == 2


def test_the_module_is_valid_against_the_providers_list(initialised: Path) -> None:
    done = terraform(initialised, "validate", "-no-color", "-json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, told["valid"], told["error_count"], told["warning_count"]) == (0, True, 0, 0)


def test_an_attribute_the_provider_does_not_have_is_refused(initialised: Path, tmp_path: Path) -> None:
    # That the list is really asked: without this, all of the above could be waved through.
    path = initialised / "more.tf"
    path.write_text(
        'resource "upcloud_storage" "volume_x" {\n  title = "x"\n  zone = "x"\n  size = 1\n  speed = 1\n}\n'
    )
    done = terraform(initialised, "validate", "-no-color")
    path.unlink()
    assert done.returncode != 0
    assert 'An argument named "speed" is not expected here' in done.stderr


def test_a_name_is_a_host_name_and_never_anothers(initialised: Path) -> None:
    node = "brokers-of-a-pool-with-a-very-long-name-indeed-and-then-some-0"
    keys = {f"{node}.g{n}": {**INSTANCE, "node": node, "generation": n} for n in (1, 2)}

    def names(upcloud: UpcloudServer, **other: str) -> list[str]:
        values = {**NEEDED, "cloud": CLOUD, "instances": keys, **other}
        (initialised / "x.auto.tfvars.json").write_text(json.dumps(values))
        where = {"UPCLOUD_TOKEN": "ucat_test", "UPCLOUD_DEBUG_API_BASE_URL": upcloud.url}
        done = terraform(initialised, "plan", "-no-color", "-input=false", "-refresh=false", **where)
        assert done.returncode == 0, done.stderr
        return re.findall(r'^\s+\+ hostname\s+= "(.*)"$', done.stdout, flags=re.MULTILINE)

    with upcloud_cloud() as upcloud:
        made = [
            *names(upcloud),
            *names(upcloud, cluster_uid="another"),
            *names(upcloud, installation_id="another"),
        ]
    assert len(set(made)) == len(made) == 6
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in made)


def test_wrong_values_are_refused_before_anything_is_asked(initialised: Path) -> None:
    wrong = {
        "installation_id": "No Spaces",
        "cluster_uid": "../up",
        "cluster_name": "",
        "region": "fi-hel1",
        "cloud": CLOUD,
        "instances": {
            "wrong-key": {**INSTANCE, "image": "Ubuntu", "zone": "de-fra1-a", "intent_id": "", "tags": {"k": "v" * 256}}
        },
        "volumes": {"b-0.data.v2": {**VOLUME, "size_gib": 4097}},
        "addresses": {"c-0": {"zone": "fi-hel1-a", "address": None}},
    }
    told = refused(initialised, wrong)
    for words in (
        "installation_id: 1-63",
        "cluster_uid: 1-63",
        "cluster_name: 1-63",
        "<node>.g<generation>",
        "every VM carries its intent id",
        "a title could mean another one tomorrow",
        "a rack of the region",
        "at most 255",
        "<node>.<dir>.v<version>",
        "size_gib must be 1 to 4096",
        "so it cannot choose",
    ):
        assert words in told, words


def test_values_that_do_not_fit_each_other_are_refused_too(initialised: Path) -> None:
    # A rule that looks at other variables is not judged while those are wrong, hence a plan of its own.
    wrong = {
        "cloud": {"network": "net", "encrypt": "maybe", "server_group": "g"},
        "attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}},
        "bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}},
    }
    told = refused(initialised, NEEDED | wrong)
    for words in (
        "UUID of a private network",
        "must be true or false",
        "UUID of a server group",
        "both the instance and the volume must be in the rendered set",
        "the node's address must be in the rendered set",
    ):
        assert words in told, words


VOLUME = {"node": "b-0", "dir": "data", "version": 1, "zone": "fi-hel1-a", "kind": "persistent", "size_gib": 1}


def refused(directory: Path, variables: dict[str, Any]) -> str:
    """What a plan with these values ends with."""
    (directory / "x.auto.tfvars.json").write_text(json.dumps(variables))
    done = terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false")
    assert done.returncode != 0
    return " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())
