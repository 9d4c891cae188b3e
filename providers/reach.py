"""Whether this machine reaches brokers: a TCP connection to each, opened and closed, with nothing sent."""

import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

from agent.host_port import HostPort
from providers.base import CloudInstance, InstanceState, Place

WAIT_S = 3.0
AT_ONCE = 16
MOST = 60
"""Of one place are tried: firewalls are of networks and tell the same of all of them."""

USUAL_PORT = 9092


class ReachAnswer(StrEnum):
    """What came of it. `SILENT` is what a firewall that drops looks like, and an address without a route."""

    OPEN = "open"
    REFUSED = "refused"
    SILENT = "silent"
    NO_ROUTE = "no route"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a broker is to be found. `is_broker` is None where nobody told what runs on that VM."""

    cluster: str
    node: str
    address: str
    port: int
    is_broker: bool | None = True

    def __str__(self) -> str:
        return f"{self.node} at {HostPort(self.address, self.port)}"


Knock = Callable[[str, int], ReachAnswer]


@dataclass(frozen=True, slots=True)
class Reach:
    """`known` are the brokers of a place where somebody knows the clusters; None: VMs of the listing are tried, at
    Kafka's usual port."""

    known: Callable[[Place], Sequence[Endpoint]] | None = None
    knock: Knock = lambda address, port: knock(address, port)


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of all of one cluster in one place."""

    cluster: str
    answers: Mapping[Endpoint, ReachAnswer]

    def of(self, *wanted: ReachAnswer) -> tuple[Endpoint, ...]:
        """Those that answered so, in order."""
        return tuple(sorted((e for e, a in self.answers.items() if a in wanted), key=str))


def knock(address: str, port: int, wait_s: float = WAIT_S) -> ReachAnswer:
    """Opens a connection and closes it. Waits `wait_s` at most."""
    try:
        socket.create_connection((address, port), wait_s).close()
    except ConnectionRefusedError:
        return ReachAnswer.REFUSED
    except TimeoutError:
        return ReachAnswer.SILENT
    except OSError:
        return ReachAnswer.NO_ROUTE
    return ReachAnswer.OPEN


def of_listing(instances: Iterable[CloudInstance]) -> tuple[Endpoint, ...]:
    """VMs that run, by their tags: which of them are brokers no tag says."""
    there = [i for i in instances if i.state is InstanceState.RUNNING]
    named = [(i.cluster_name or i.cluster_uid, i.key, i.address) for i in there]
    return tuple(Endpoint(cluster, key, address, USUAL_PORT, None) for cluster, key, address in named if address)


def reached(endpoints: Sequence[Endpoint], knock: Knock) -> Iterator[Reached]:
    """Clusters by name. Several are tried at once."""
    tried = sorted(endpoints, key=lambda e: (e.cluster, str(e)))[:MOST]
    with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="reach") as pool:
        answers = list(pool.map(lambda e: knock(e.address, e.port), tried))
    found: dict[str, dict[Endpoint, ReachAnswer]] = defaultdict(dict)
    for endpoint, answer in zip(tried, answers, strict=True):
        found[endpoint.cluster][endpoint] = answer
    for cluster, of in found.items():
        yield Reached(cluster, of)


def in_words(found: Reached) -> tuple[bool | None, str, str]:
    """Whether it is well, what is told, and what a person does about it."""
    shut, down, up = (
        found.of(ReachAnswer.SILENT, ReachAnswer.NO_ROUTE),
        found.of(ReachAnswer.REFUSED),
        found.of(ReachAnswer.OPEN),
    )
    count = len(found.answers)
    if shut:
        why = {found.answers[e] for e in shut}
        told = "nobody answered" if why == {ReachAnswer.SILENT} else "there is no way to them"
        return (
            False,
            f"{told} within {WAIT_S:.0f} s: {_some(shut)}; {count - len(shut)} of {count} did",
            "a firewall or a route is in the way of this machine: name it in `clouds.server_addresses` of the server's "
            "settings where Kedge makes the network, let it in yourself where it is yours",
        )
    if not down:
        return True, f"all {count} answer at their ports", ""
    if any(e.is_broker is None for e in down):
        if up:
            return True, f"{len(up)} of {count} answer at {USUAL_PORT}, the others are reached: {_some(down)}", ""
        told = f"reached, and nothing listens at {USUAL_PORT}: {_some(down)}"
        return (
            None,
            told,
            "brokers at other ports, or none that is up; with KEDGE_SERVER the server tries the right ones",
        )
    told = f"reached, and nothing listens there: {_some(down)}; {len(up)} of {count} answer"
    return False, told, "no firewall is in the way: the broker is down, `kedge describe` says why"


def _some(endpoints: Sequence[Endpoint]) -> str:
    more = f" and {len(endpoints) - 3} more" if len(endpoints) > 3 else ""
    return ", ".join(str(e) for e in endpoints[:3]) + more
