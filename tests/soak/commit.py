"""Which commit this checkout is at, and which slice of soak is its own."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

SLICE = "KEDGE_SOAK_SLICE"
"""The number of a slice, from 1: in place of the commit's own."""
WRITTEN_BY_SOAK = ("docs/soak.md", "tests/soak/durations.json")
UNFINISHED = "tests/soak/unfinished"
"""Resume files of soaks that were begun on one machine and go on on another, by tree."""
DAY_S = 86_400


def turn(root: Path) -> tuple[int, str]:
    """A number that consecutive landings count up, and what it is made of.

    How many commits lead here. A shallow clone does not know that and takes the commit's id, which meets each slice
    sooner or later; where there is no repository of git, it is the day.
    """
    head = _git(root, "rev-parse", "HEAD")
    if head and _git(root, "rev-parse", "--is-shallow-repository") == "false":
        return int(_git(root, "rev-list", "--count", "HEAD")), f"commit {head[:12]}"
    if head:
        return int(head[:12], 16), f"commit {head[:12]} of a shallow clone"
    day = int(time.time()) // DAY_S
    return day, f"day {day}, for want of git"


def chosen(count: int, root: Path) -> tuple[int, str]:
    """The slice of this checkout, from 0, of so many; and why. `KEDGE_SOAK_SLICE` names another."""
    named = os.environ.get(SLICE)
    if named:
        if not named.isdecimal() or not 1 <= int(named) <= count:
            raise SystemExit(f"{SLICE}={named}: give the number of a slice, 1 to {count}")
        return int(named) - 1, f"{SLICE}={named}"
    number, why = turn(root)
    return number % count, why


def head(root: Path) -> str:
    """The commit; "" without git."""
    return _git(root, "rev-parse", "HEAD")


def tree(root: Path) -> str:
    """A sum of the files, of what was changed since the commit, too: results of another tree are not taken over. Pages
    (`*.md`) and what soak writes itself count nothing: no test of soak reads them."""
    if not head(root):
        raise SystemExit("make soak needs a clone of git: its results are of a commit")
    others = [*(f":(exclude){name}" for name in (*WRITTEN_BY_SOAK, UNFINISHED)), ":(exclude)*.md"]
    files = _git(root, "ls-tree", "-r", "HEAD").splitlines()
    told = [f for f in files if not f.endswith((".md", *WRITTEN_BY_SOAK)) and f"\t{UNFINISHED}/" not in f]
    new = _git(root, "ls-files", "-o", "--exclude-standard", "--", ".", f":(exclude){UNFINISHED}")
    told.append(_git(root, "diff", "HEAD", "--", ".", *others) + new)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _git(root: Path, *arguments: str) -> str:
    """What git says; nothing where there is no git, or no repository whose root this is."""
    try:
        told = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return told.stdout.strip() if told.returncode == 0 and (root / ".git").exists() else ""
