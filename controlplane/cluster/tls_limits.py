"""What brokers of a cluster copy by TLS at most, by their machines and fetchers; nothing where they speak plaintext."""

import math
from collections import defaultdict

from controlplane.cluster.hardware import processors_at, processors_of
from controlplane.cluster.sized_nodes import sized_nodes
from controlplane.cluster.view import ClusterView
from controlplane.runtime.once import once
from events.spec.model import KafkaClusterDocument, Pool
from planner.drain.request import NO_TLS, TlsLimits
from planner.quantities import brokers_named, human_bytes
from planner.tls_cost import TlsRates, tls_rates
from providers.given_machines import given_by

_FETCHERS = "num.replica.fetchers"
_KAFKAS_FETCHERS = 1
"""Kafka's own default, and an agent's for a small heap."""


@once
def tls_limits(view: ClusterView) -> TlsLimits:
    """By broker; one that is missing is no broker of Kedge's. A broker on a machine of which nobody knows the
    processors is held to its fetchers alone, and that is told."""
    if not view.security.brokers_copy_by_tls:
        return NO_TLS
    processors, into, out = processors_of(view), {}, {}
    groups: dict[tuple[int, int | None], list[int]] = defaultdict(list)
    for instance in view.brokers():
        fetchers = int(instance.settings.get(_FETCHERS, _KAFKAS_FETCHERS))
        made_of = fetchers, processors.get(instance.service_id)
        rates = tls_rates(fetchers=fetchers, processors=made_of[1])
        into[instance.service_id] = rates.into
        if math.isfinite(rates.out):
            out[instance.service_id] = rates.out
        groups[made_of].append(instance.service_id)
    told = tuple(_limits_text(brokers, *made_of) for made_of, brokers in groups.items())
    return TlsLimits(into, out, told)


def pool_tls_bytes_per_s(document: KafkaClusterDocument, pool: Pool) -> float | None:
    """What the brokers that a pool asks for will take in by TLS at most; None where they are to speak plaintext."""
    if document.spec.security.internal != "tls":
        return None
    given = given_by(document)
    node = next(node for node in sized_nodes(document) if node.pool == pool.name)
    fetchers = int(node.settings.get(_FETCHERS, _KAFKAS_FETCHERS))
    return tls_rates(fetchers=fetchers, processors=processors_at(pool.place.cloud, pool.machine, given)).into


def _limits_text(brokers: list[int], fetchers: int, processors: int | None) -> str:
    rates = tls_rates(fetchers=fetchers, processors=processors)
    threads = f"{fetchers} fetcher{'s' if fetchers > 1 else ''}"
    return f"TLS between brokers: {brokers_named(sorted(brokers))} {_rate_words(rates)}, by {threads} {_by(processors)}"


def _rate_words(rates: TlsRates) -> str:
    into = f"take {human_bytes(rates.into)}/s"
    return f"{into} and give {human_bytes(rates.out)}/s at most" if math.isfinite(rates.out) else f"{into} at most"


def _by(processors: int | None) -> str:
    if processors is None:
        return "alone, as nobody knows how many processors there are (docs/planning.md)"
    return f"and {processors} processor{'s' if processors > 1 else ''} (measured of Kafka 4.2.0, docs/planning.md)"
