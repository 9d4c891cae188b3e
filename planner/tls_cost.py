"""What TLS between brokers takes of them, as Kafka 4.2.0 was measured with AES-256-GCM, which is what brokers negotiate
(docs/planning.md, "TLS between brokers").

Replication over TLS takes 3.0 to 3.5 CPU seconds of the leader for a GB, and 6.0 to 6.2 of the follower, who decrypts
in its fetcher threads; one fetcher reached 153 MB/s where two processors had nothing else to do, 120 MB/s is what is
counted on.
"""

import math
from dataclasses import dataclass

FETCHER_BYTES_PER_S = 120e6
"""What one fetcher thread (`num.replica.fetchers`) decrypts and writes."""
TAKEN_BYTES_PER_CPU_S = 1e9 / 6.2
"""What a processor takes in as a follower."""
GIVEN_BYTES_PER_CPU_S = 1e9 / 3.5
"""What a processor sends as a leader."""
_EACH_WAY = 0.5
"""Of a broker's processors: half of them take while the other half give."""


@dataclass(frozen=True, slots=True)
class TlsRates:
    """Bytes/s that a broker takes in and gives out over TLS, replication of all kinds together; inf where no limit is
    known."""

    into: float
    out: float


def tls_rates(*, fetchers: int, processors: int | None) -> TlsRates:
    """Of a broker with so many fetcher threads and processors, None where nobody knows how many those are."""
    threads = max(fetchers, 1) * FETCHER_BYTES_PER_S
    if processors is None:
        return TlsRates(threads, math.inf)
    share = processors * _EACH_WAY
    return TlsRates(min(threads, share * TAKEN_BYTES_PER_CPU_S), share * GIVEN_BYTES_PER_CPU_S)
