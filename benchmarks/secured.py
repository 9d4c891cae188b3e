"""What TLS between nodes costs, what many users cost, and a renewal of certificates, on real brokers.

    python -m benchmarks secured [--row NAME] [--scale N] [--out FILE]

Row `copies`: replication without a throttle and a drain of 1 GiB, of a cluster in plaintext and of one with TLS: rates,
TLS / plaintext, the drain's rate over what its certificate promised, records lost or twice, seconds under min ISR.

Row `users`: 10,000 users with five ACLs each, declared on three brokers that ask for passwords: seconds until the last
is as declared, the longest tick of the converged cluster, p95 of a page of users.

Row `renewal`: certificates of three controllers and three brokers are due, and Kedge renews them: restarts, listeners
that serve the old serial after it, records lost or twice, seconds under min ISR.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.many_users import many_users
from benchmarks.secured_copies import copies
from benchmarks.secured_renewal import renewal
from benchmarks.selection import Row, measured

ROWS: dict[str, Row] = {"copies": copies, "users": many_users, "renewal": renewal}


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for, all without `--row`."""
    return measured("secured", ROWS, arguments)
