"""The files of a release, from a commit: wheel, source archive, agent archives, bill of materials, sums, signature.

    python -m tests.tools.release.files --out dist --key RELEASER

What is built is the commit, not the folder around it: changes that are not committed are in no release. The same commit
gives the same bytes on the same installation; only the signature has a time. Without `--key` nothing is signed, and it
says so.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from controlplane.server.agent_bundle import PROCESSORS
from tests.tools.release.bill import ROOT, TOOLS, BillRefused, bill, write

BILL = "sbom.cdx.json"
SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.asc"


class ReleaseRefused(Exception):
    """No release is made. What now: the message says which step failed, and what it said."""


def make(
    repository: Path,
    out: Path,
    *,
    commit: str = "HEAD",
    key: str | None = None,
    processors: Sequence[str] = PROCESSORS,
) -> list[Path]:
    """Writes all files into `out`, which has to be empty or new; gives them. Agents for other processors than this
    machine's are packages from the index. Raises `ReleaseRefused`, `BillRefused`."""
    if out.exists() and any(out.iterdir()):
        raise ReleaseRefused(f"{out} is not empty: what lies there would be signed too")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kedge-release-") as folder:
        tree = Path(folder) / "tree"
        _exported(repository, commit, tree)
        committed_s = _said("git", "log", "-1", "--format=%ct", commit, cwd=repository)
        packages(tree, out.absolute(), committed_s)
        _agents(tree, out.absolute(), processors)
        write(bill(tree), out / BILL)
    _summed(out)
    if key is not None:
        _said("gpg", "--batch", "--local-user", key, "--armor", "--detach-sign", "--output", SIGNATURE, SUMS, cwd=out)
    return sorted(out.iterdir())


def _exported(repository: Path, commit: str, tree: Path) -> None:
    tree.mkdir()
    archive = tree.parent / "tree.tar"
    _said("git", "archive", "--output", str(archive), commit, cwd=repository)
    shutil.unpack_archive(archive, tree, filter="data")


def packages(tree: Path, out: Path, committed_s: str) -> None:
    """Wheel and source archive of a tree; every file in them has this time (Unix seconds). Raises `ReleaseRefused`."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": committed_s}
    command = (str(TOOLS / "python"), "-m", "build", "--no-isolation", "--outdir", str(out), ".")
    if not Path(command[0]).exists():
        raise ReleaseRefused(f"{command[0]} is not there: `make release` installs it")
    _said(*command, cwd=tree, environment=environment)


def _agents(tree: Path, out: Path, processors: Sequence[str]) -> None:
    bundle = "import sys; from pathlib import Path; from controlplane.server.agent_bundle import write_bundle"
    for processor in processors:
        _said(
            sys.executable,
            "-c",
            f"{bundle}; write_bundle(Path(sys.argv[1]), sys.argv[2])",
            str(out),
            processor,
            cwd=tree,
        )


def _summed(out: Path) -> None:
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}
    (out / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


def _said(*command: str, cwd: Path, environment: dict[str, str] | None = None) -> str:
    ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ReleaseRefused(f"`{command[0]} {command[1]}` failed: {(ended.stderr or ended.stdout).strip()[-2000:]}")
    return ended.stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the files of a release from the last commit.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--key", help="the releaser's key, as GnuPG names it")
    asked = parser.parse_args()
    try:
        made = make(ROOT, asked.out, key=asked.key or None)
    except (ReleaseRefused, BillRefused) as refused:
        raise SystemExit(f"no release was made: {refused}") from None
    print("\n".join(str(path) for path in made))
    if not asked.key:
        print("nothing is signed: name the releaser's key by KEY=...")
