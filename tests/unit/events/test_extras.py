"""What is installed by need: every module of others that the product imports comes with the right extra."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from events.extras import OF_MODULE, extra_missing, how_to_add
from providers.errors import SdkMissing
from providers.registry import load

ROOT = Path(__file__).parents[3]
OURS = {"agent", "controlplane", "events", "planner", "providers", "spark"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = {"annotated_types", "anyio", "click", "httpcore", "httpx", "pydantic", "pydantic_core", "rich", "typer", "yaml"}
BASE |= {"typing_extensions"}
"""What the base of an installation brings, and what that needs itself."""


def of_others(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        yield from (n.partition(".")[0] for n in names)


def brought_by(extra: str) -> set[str]:
    """Canonical names of packages, with those of the extras it names."""
    found: set[str] = set()
    for need in map(Requirement, PROJECT["optional-dependencies"][extra]):
        if need.name == PROJECT["name"]:
            found |= {one for other in need.extras for one in brought_by(other)}
        else:
            found.add(canonicalize_name(need.name))
    return found


def test_every_module_of_others_has_its_extra_or_is_in_the_base() -> None:
    files = [path for package in OURS for path in (ROOT / package).rglob("*.py")]
    imported = {name for path in files for name in of_others(path)} - set(sys.stdlib_module_names) - OURS
    assert imported - BASE - set(OF_MODULE) == set()


@pytest.mark.parametrize("cloud", ["aws", "azure", "digitalocean", "google", "hetzner", "upcloud"])
def test_an_extra_of_a_cloud_brings_all_that_its_folder_imports(cloud: str) -> None:
    imported = {name for path in (ROOT / "providers" / cloud).glob("*.py") for name in of_others(path)}
    told = packages_distributions()
    here = {canonicalize_name(d) for name in imported & set(OF_MODULE) - {"azure", "google"} for d in told[name]}
    # Of a name that many packages share, one of the extra's own is enough; botocore is boto3's other half.
    assert here - brought_by(cloud) <= {"botocore"}


def test_each_extra_is_one_of_the_package() -> None:
    assert set(OF_MODULE.values()) <= set(PROJECT["optional-dependencies"])
    everything = set(PROJECT["optional-dependencies"]) - {"all", "dev"}
    assert brought_by("all") == {one for extra in everything for one in brought_by(extra)}


def test_a_module_that_no_extra_brings_is_an_error_of_ours() -> None:
    assert extra_missing(ModuleNotFoundError(name="boto3.session")) == "aws"
    assert extra_missing(ModuleNotFoundError(name="controlplane.nowhere")) == ""
    assert how_to_add("aws") == "pip install 'kedge[aws]'"


def test_a_cloud_whose_sdk_is_missing_is_refused_with_the_command_that_adds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith(("providers.hetzner", "hcloud"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hcloud", None)
    with pytest.raises(SdkMissing, match=r"`hcloud`, which is not installed here: pip install 'kedge\[hetzner\]'"):
        load("hetzner")


def test_pages_name_extras_that_there_are() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        e for page in pages for found in re.findall(r"kedge\[([a-z,-]+)\]", page.read_text()) for e in found.split(",")
    }
    assert {"server", "spark", "aws"} <= named <= set(PROJECT["optional-dependencies"])
