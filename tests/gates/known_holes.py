"""`make audit`: known vulnerabilities of the locked packages, by what an index on the network tells.

    python -m tests.gates.known_holes [LOCK] [--osv-url URL]

PyPI is asked, or with `--osv-url` a service that speaks OSV's protocol: where a mirror is all there is, it tells none.
"""

import argparse
import sys
from pathlib import Path

from tests.gates.scanners import ROOT, Result, ran

LOCK = ROOT / "requirements.lock"


def known_holes(lock: Path, *, osv_url: str = "") -> Result:
    """pip-audit over a lock file with hashes; nothing is installed. An index that does not answer, or does not know a
    package, fails."""
    service = ("-s", "osv", "--osv-url", osv_url) if osv_url else ()
    told = ("--strict", "--require-hashes", "--disable-pip", "--progress-spinner", "off", *service, "-r")
    return ran("pip-audit", told, [lock])


def main() -> int:
    """Exit status 1 where something is known, or could not be asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("lock", type=Path, nargs="?", default=LOCK)
    parser.add_argument("--osv-url", default="")
    asked = parser.parse_args()
    found = known_holes(asked.lock, osv_url=asked.osv_url)
    print(found.words)
    return 0 if found.passed else 1


if __name__ == "__main__":
    sys.exit(main())
