"""The modules themselves: formatted, valid, refusing bad input, and faithful to the contract in terraform/README.md."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from providers.tf.address import WORDS

pytestmark = pytest.mark.terraform

TERRAFORM = Path(__file__).parents[2] / "terraform"
# A network is applied by a person and has a contract of its own (test_aws_network.py).
MODULES = sorted(p for p in (TERRAFORM / "modules").iterdir() if p.is_dir() and not p.name.endswith("-network"))


def table(heading: str) -> set[str]:
    """Names in the first column of the table below a heading of the contract."""
    text = (TERRAFORM / "README.md").read_text()
    section = text.split(f"### {heading}\n")[1].split("\n#")[0]
    return set(re.findall(r"^\| `(\w+)`", section, flags=re.MULTILINE))


def blocks(module: Path, kind: str) -> dict[str, str]:
    """Name -> text of each top-level block of a kind in a module's files."""
    text = "\n".join(path.read_text() for path in sorted(module.glob("*.tf")))
    found = re.findall(rf'^{kind} (?:"[\w-]+" )?"(\w+)" {{\n(.*?)^}}', text, flags=re.MULTILINE | re.DOTALL)
    return dict(found)


def terraform(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "rc").write_text("disable_checkpoint = true\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "TF_CLI_CONFIG_FILE": str(directory / "rc"),
    }
    return subprocess.run(
        ["terraform", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(params=MODULES, ids=lambda path: str(path.name))
def module(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_there_is_a_module_for_the_local_cloud() -> None:
    assert "local" in {path.name for path in MODULES}


def test_a_module_takes_the_variables_of_the_contract(module: Path) -> None:
    assert set(blocks(module, "variable")) == table("Variables")


def test_a_module_gives_the_outputs_of_the_contract(module: Path) -> None:
    assert set(blocks(module, "output")) == table("Outputs")


def test_a_modules_resources_are_named_by_the_contract(module: Path) -> None:
    assert {name.partition("_")[0] for name in blocks(module, "resource")} == set(WORDS)


def test_every_variable_of_a_module_is_validated_and_described(module: Path) -> None:
    for name, text in blocks(module, "variable").items():
        assert "validation {" in text, f"{name} is not validated"
        assert "description" in text, f"{name} is not described"


def test_nothing_in_a_module_can_replace_a_vm(module: Path) -> None:
    code = [line for path in module.glob("*.tf") for line in path.read_text().splitlines() if not line.startswith("#")]
    assert [
        line for line in code if re.search(r"triggers_replace|create_before_destroy|replace_triggered_by", line)
    ] == []
    assert "ignore_changes" in blocks(module, "resource")["instance"]


def test_a_resource_of_a_module_names_one_other_by_its_key_and_never_all_of_them(module: Path) -> None:
    """Else each VM that comes or goes would be an update of what others hang on, which the guard refuses. What only
    says in which order things are made, or judges them afterwards, changes nothing."""
    text = "\n".join(path.read_text() for path in sorted(module.glob("*.tf")))
    bodies = re.findall(r'^resource "([\w-]+)" "(\w+)" {\n(.*?)^}', text, flags=re.MULTILINE | re.DOTALL)
    judged = re.compile(r"depends_on *= \[.*?\]|(?:pre|post)condition {.*?\n    }", flags=re.DOTALL)
    by_key = r"\[(?:each\.(?:key|value\.\w+)|var\.bindings\[each\.key\]\.\w+|storage_devices\.value)\]"
    for kind, name, body in bodies:
        code = judged.sub("", body)
        assert "count" not in re.findall(r"^  (\w+) *=", code, flags=re.MULTILINE), f"{kind}.{name} is counted"
        for other in (f"{k}.{n}" for k, n, _ in bodies):
            found = re.findall(rf"\b{re.escape(other)}\b(?!{by_key}).{{0,30}}", code)
            assert found == [], f"{kind}.{name} names {other} other than by one key"


def test_a_module_is_formatted(module: Path, tmp_path: Path) -> None:
    done = terraform(tmp_path, "fmt", "-check", "-diff", "-recursive", str(module))
    assert done.returncode == 0, done.stdout


def test_a_module_is_valid_without_the_network(initialised: Path) -> None:
    assert terraform(initialised, "validate", "-no-color").returncode == 0
    assert plan(initialised, {}).returncode == 0


INSTANCE: dict[str, Any] = {
    "node": "b-0",
    "generation": 1,
    "zone": "a",
    "shape": "small",
    "image": "1",
    "intent_id": "i",
    "boot_data": "{}",
    "address": "127.64.0.1",
    "tags": {},
}
VOLUME: dict[str, Any] = {"node": "b-0", "dir": "data", "version": 1, "zone": "a", "kind": "persistent", "size_gib": 1}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"installation_id": "No Spaces"}, "installation_id"),
        ({"cluster_uid": "../up"}, "cluster_uid"),
        ({"cluster_name": ""}, "cluster_name"),
        ({"region": "A"}, "region"),
        ({"cloud": {"root": "relative", "python": "/usr/bin/python3"}}, "absolute"),
        ({"instances": {"wrong-key": INSTANCE}}, "<node>.g<generation>"),
        ({"instances": {"b-0.g1": INSTANCE | {"intent_id": ""}}}, "intent id"),
        ({"instances": {"b-0.g1": INSTANCE | {"spot": True}}}, "no pre-emptible VMs"),
        ({"instances": {"b-0/x.g1": INSTANCE | {"node": "b-0/x"}}}, "node is made of"),
        ({"volumes": {"b-0.data.v2": VOLUME}}, "<node>.<dir>.v<version>"),
        ({"volumes": {"b-0.data.v1": VOLUME | {"size_gib": 0}}}, "size_gib"),
        ({"attachments": {"b-0.g1.data": {"instance": "b-0.g1", "volume": "b-0.data.v1"}}}, "in the rendered set"),
        ({"addresses": {"c-0": {"zone": "a", "address": "nowhere"}}}, "IPv4"),
        ({"bindings": {"c-0.g1": {"node": "c-0", "instance": "c-0.g1"}}}, "in the rendered set"),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_a_wrong_value_is_refused_before_anything_happens(
    variables: dict[str, Any], words: str, initialised: Path
) -> None:
    done = plan(initialised, variables)
    assert done.returncode != 0
    assert words in " ".join(re.sub(r"[│╷╵]", " ", done.stderr).split())


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The local module in a directory of its own, after `init`."""
    directory = tmp_path_factory.mktemp("module")
    for path in (TERRAFORM / "modules" / "local").glob("*.tf"):
        (directory / path.name).write_text(path.read_text())
    assert terraform(directory, "init", "-no-color").returncode == 0
    return directory


def plan(directory: Path, variables: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Plan with good values, some of them replaced."""
    good = {
        "installation_id": "test",
        "cluster_uid": "c0ffee",
        "cluster_name": "orders",
        "region": "local-1",
        "cloud": {"root": "/tmp/root", "python": "/usr/bin/python3"},
    }
    (directory / "x.auto.tfvars.json").write_text(json.dumps(good | variables))
    return terraform(directory, "plan", "-no-color", "-input=false", "-refresh=false")
