"""npm's `oidc-provider` in the cache: a certified OpenID provider that tests start on loopback.

    python -m tests.tools.oidc.install --cache .cache

`package-lock.json` beside this file names every package with its hash, and no registry: npm asks the one it is set to.
"""

import argparse
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("package.json", "package-lock.json", "provider.mjs")


def folder(cache: Path) -> Path:
    """Where it lies below a cache folder."""
    return cache / "oidc"


def install(cache: Path) -> Path:
    """Installs what the lock names, without running any script of theirs. Says what to do where there is no npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("the OpenID provider of the tests is a package of npm, and there is none: install Node.js 20")
    there = folder(cache.absolute())
    there.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(HERE / name, there / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(command, cwd=there, check=True)
    return there


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Install the tests' OpenID provider into a cache folder.")
    parser.add_argument("--cache", type=Path, required=True)
    print(install(parser.parse_args().cache))
