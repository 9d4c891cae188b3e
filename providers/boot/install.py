"""Installs what this VM runs: `install.py software.json`. Python's standard library alone, as of Debian 12.

Every part is whole or absent: it is fetched beside, checked against its SHA-256, and renamed. Run again it does what is
missing; with nothing missing it touches nothing. A mirror that does not answer is asked again, and each failure is a
line on the console, where the cloud shows it.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

PAUSE_S, LONGEST_PAUSE_S, GIVE_UP_S = 2.0, 60.0, 3600.0


class Wrong(Exception):
    """No use in trying again: the mirror has another file than the one that was meant."""


def main(path: str) -> int:
    wanted = json.loads(Path(path).read_text())
    packages(wanted["packages"])
    for part in wanted["parts"]:
        install(part)
    return 0


def packages(by_command: Mapping[str, str]) -> None:
    missing = sorted(package for command, package in by_command.items() if not shutil.which(command))
    if missing:
        environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        apt = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
        again_and_again(lambda: subprocess.run([*apt, "update"], env=environ, check=True), "apt-get update")
        command = [*apt, "--no-install-recommends", "install", *missing]
        again_and_again(lambda: subprocess.run(command, env=environ, check=True), " ".join(command))


def install(part: Mapping[str, str]) -> None:
    target = Path(part.get("directory") or part["file"])
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.parent / f".{target.name}.part"
        again_and_again(lambda: fetch(part["url"], part["sha256"], beside), part["url"])
        if "file" in part:
            beside.chmod(0o644)
            beside.rename(target)
        else:
            unpack(beside, target, int(part.get("strip", "0")))
            beside.unlink()
        say(f"{target} is there")
    if "link" in part and (not os.path.islink(part["link"]) or os.readlink(part["link"]) != str(target)):
        fresh = Path(part["link"] + ".part")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        fresh.rename(part["link"])


def fetch(url: str, sha256: str, beside: Path) -> None:
    """Streams to the file. Raises Wrong when the bytes are others, OSError when they do not all come."""
    digest = hashlib.sha256()
    # The URL is a person's, of the settings, and no bytes but those of this SHA-256 are used.
    with urllib.request.urlopen(url, timeout=60) as answer, beside.open("wb") as sink:  # noqa: S310  # nosec B310
        while block := answer.read(1 << 20):
            digest.update(block)
            sink.write(block)
        sink.flush()
        os.fsync(sink.fileno())
    if digest.hexdigest() != sha256:
        beside.unlink()
        raise Wrong(f"{url}: its SHA-256 is {digest.hexdigest()}, should be {sha256}; nothing of it was used")


def unpack(archive: Path, target: Path, strip: int) -> None:
    """The archive without its first `strip` path parts. Names that lead out of the target are refused."""
    beside = target.parent / f".{target.name}.unpacked"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = Path(member.name).parts[strip:]
            if member.issym() or member.islnk() or member.isdev() or ".." in parts or member.name.startswith("/"):
                raise Wrong(f"{archive.name}: {member.name} is not a plain file inside it")
            if parts:
                member.name = str(Path(*parts))
                member.uid = member.gid = 0
                member.uname = member.gname = "root"
                tar.extract(member, beside)
    beside.rename(target)


def again_and_again(what: Callable[[], object], name: str) -> None:
    """Until it works. Raises Wrong at once, anything else after an hour."""
    began, pause_s = time.monotonic(), PAUSE_S
    while True:
        try:
            what()
            return
        except (OSError, EOFError, subprocess.CalledProcessError) as error:
            if time.monotonic() - began > GIVE_UP_S:
                raise
            say(f"{name}: {error}; tried again in {pause_s:.0f} s")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def say(what: object) -> None:
    print(f"kedge: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except Wrong as wrong:
        say(wrong)
        sys.exit(1)
