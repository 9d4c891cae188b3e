"""The bill of materials of a release, in CycloneDX 1.6: what it needs at run time, what is vendored, what made it.

    python -m tests.tools.release.bill --out sbom.cdx.json

Packages are those of `requirements.lock`, with their hashes. `scope` says which of them a server runs (`required`) and
which only tests and builds use (`excluded`); the property `kedge:agent` those that are in the agent's archive too. The
same tree gives the same bytes. No network is used.
"""

import argparse
import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from controlplane.server.agent_bundle import ROOTS

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / ".cache" / "release" / "bin"
VENDORED = Path("controlplane") / "portal" / "static" / "vendor" / "README.md"

_ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| (?P<name>[^@|]+)@(?P<version>\S+) \| (?P<licence>\S+) \| `(?P<sha256>[0-9a-f]{64})` \|$"
)
_TOP = "root-component"


class BillRefused(Exception):
    """No bill is written. What now: the message names what is missing."""


def bill(tree: Path) -> dict[str, Any]:
    """The document about a checkout. Raises `BillRefused` where it would leave something out."""
    document = _locked(tree)
    direct = _asked_for(tree)
    runs, agents = closure(direct), closure(map(Requirement, ROOTS))
    components = document["components"]
    if unlocked := sorted(runs - {canonicalize_name(one["name"]) for one in components}):
        raise BillRefused(f"installed and needed, but not in requirements.lock: {', '.join(unlocked)}")
    for one in components:
        name = canonicalize_name(one["name"])
        del one["description"]  # the line of the lock file, once more
        one["scope"] = "required" if name in runs else "excluded"
        if name in agents:
            one["properties"] = [{"name": "kedge:agent", "value": "true"}]
    components += vendored(tree)
    asked = {canonicalize_name(need.name) for need in direct}
    top = [one["bom-ref"] for one in components if canonicalize_name(one["name"]) in asked or "npm" in one["purl"]]
    document["dependencies"] = [{"ref": _TOP, "dependsOn": sorted(top)}] + [
        edge for edge in document["dependencies"] if edge["ref"] != _TOP
    ]
    return document


def vendored(tree: Path) -> list[dict[str, Any]]:
    """Files of others that lie in ours, from the table beside them. Raises `BillRefused` where a file has no row."""
    table = tree / VENDORED
    rows = [row for line in table.read_text().splitlines() if (row := _ROW.match(line)) is not None]
    unnamed = {p.name for p in table.parent.iterdir() if p.suffix in (".js", ".css")} - {row["file"] for row in rows}
    if unnamed or not rows:
        raise BillRefused(f"{VENDORED} does not say what these are: {', '.join(sorted(unnamed)) or 'no row at all'}")
    return [
        {
            "bom-ref": f"vendored-{row['file']}",
            "type": "file",
            "name": row["file"],
            "version": row["version"],
            "purl": f"pkg:npm/{row['name']}@{row['version']}#dist",
            "licenses": [{"license": {"id": row["licence"]}}],
            "hashes": [{"alg": "SHA-256", "content": row["sha256"]}],
            "scope": "required",
        }
        for row in rows
    ]


def write(document: dict[str, Any], path: Path) -> None:
    """Writes the document once it is held to the schema. Raises `BillRefused`."""
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    asked = [str(_tool("python")), "-c", _VALIDATE]
    if told := subprocess.run(asked, input=text, capture_output=True, text=True, check=True).stdout.strip():
        raise BillRefused(f"it is not CycloneDX 1.6: {told}")
    path.write_text(text)


_VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()) or "")
"""


def _locked(tree: Path) -> dict[str, Any]:
    told = ["requirements", "--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON", "--sv", "1.6"]
    command = [str(_tool("cyclonedx-py")), *told, "-o", "-", "requirements.lock"]
    ended = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise BillRefused(f"cyclonedx-py cannot read requirements.lock: {ended.stderr.strip()}")
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def _asked_for(tree: Path) -> list[Requirement]:
    """What the command line needs and what any extra does, the tests' aside."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    extras = [needs for extra, needs in project["optional-dependencies"].items() if extra != "dev"]
    asked = [Requirement(text) for text in chain(project["dependencies"], *extras)]
    return [need for need in asked if need.name != project["name"]]


def closure(needs: Iterable[Requirement]) -> set[str]:
    """Names of all that these need as installed here, themselves included."""
    found: set[tuple[str, str]] = set()
    left = [(need.name, extra) for need in needs for extra in ("", *need.extras)]
    while left:
        name, extra = left.pop()
        key = (canonicalize_name(name), extra)
        if key in found:
            continue
        found.add(key)
        left += _needs_of(name, extra)
    return {name for name, _ in found}


def _needs_of(name: str, extra: str) -> Iterator[tuple[str, str]]:
    try:
        needs = [Requirement(text) for text in distribution(name).requires or ()]
    except PackageNotFoundError:
        raise BillRefused(f"{name} is not installed here: `make setup`") from None
    for need in needs:
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            yield from ((need.name, one) for one in ("", *need.extras))


def _tool(name: str) -> Path:
    if not (TOOLS / name).exists():
        raise BillRefused(f"{TOOLS / name} is not there: `make sbom` and `make release` install it")
    return TOOLS / name


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the bill of materials of this checkout.")
    parser.add_argument("--out", type=Path, required=True)
    asked_for = parser.parse_args().out
    try:
        write(bill(ROOT), asked_for)
    except BillRefused as refused:
        raise SystemExit(f"no bill was written: {refused}") from None
    print(f"wrote {asked_for}")
