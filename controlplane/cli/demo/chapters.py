"""What each kind of demo tells, chapter by chapter. Data: a chapter's act says what the story does."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from controlplane.cli.demo.story import FILL_MIB, SECOND_FILL_MIB, DemoStory

DemoKind = Literal["secured", "plaintext", "zookeeper"]
"""What a demo is of. Clusters in ZooKeeper mode speak plaintext."""

Act = Callable[[DemoStory], None]

EXAMPLES = Path("examples")
LOSS_GRACE_S = 5
SHORT_FILL_MIB = 12
"""Of both topics of a short demo."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A headline, what a newcomer should know about what comes, and what is done."""

    title: str
    lines: tuple[str, ...]
    act: Act


@dataclass(frozen=True, slots=True)
class Tale:
    """A whole demo: the spec it starts from, and settings of its server beside the usual ones."""

    spec: Path
    chapters: tuple[Chapter, ...]
    settings: Mapping[str, str] = field(default_factory=dict)


def _version(before: str, after: str) -> Act:
    def act(story: DemoStory) -> None:
        story.change(rf"^(\s+version:\s*){re.escape(before)}$", rf"\g<1>{after}")
        story.roll()

    return act


def _sized(before: int, after: int) -> Act:
    def act(story: DemoStory) -> None:
        story.change(rf"(name: brokers\s+services: \[broker\]\s+size: ){before}$", rf"\g<1>{after}")
        story.apply()

    return act


def _grown(before: int, after: int, fill_mib: int) -> Act:
    def act(story: DemoStory) -> None:
        _sized(before, after)(story)
        story.wait_for_balance()
        added = story.traffic.add_topic("payments", fill_mib)
        story.tell(f"topic `payments`: {added} records written")

    return act


def _opened(story: DemoStory) -> None:
    story.tell(f"it listens; its home is {story.open()}")


def _founded(story: DemoStory) -> None:
    story.apply()


def _filled(fill_mib: int) -> Act:
    def act(story: DemoStory) -> None:
        written = story.traffic.begin(fill_mib)
        story.tell(f"{written} records written; traffic runs")
        story.wait_for_spark()

    return act


def _signed_in(story: DemoStory) -> None:
    story.declare_users(EXAMPLES / "secured-users.yaml")


def _filled_and_guarded(fill_mib: int) -> Act:
    def act(story: DemoStory) -> None:
        _filled(fill_mib)(story)
        story.show_refusals("orders")

    return act


def _server_killed(story: DemoStory) -> None:
    story.kill_vm_of("zookeeper")


def _audited(story: DemoStory) -> None:
    story.audit()


_SERVER = Chapter(
    "A server",
    ("`kedge server`: the API, the converger that never sleeps, and a planning worker that owns a Spark session.",),
    _opened,
)


def _traffic(fill_mib: int) -> Chapter:
    return Chapter(
        "Traffic",
        (
            f"topic `orders` (RF 3, min ISR 2) gets {fill_mib} MiB; then an idempotent acks=all producer and a "
            "consumer",
            "keep running to the end. Every record has a name, so that none can be lost or doubled unseen.",
        ),
        _filled(fill_mib),
    )


def _secured_traffic(fill_mib: int) -> Chapter:
    plain = _traffic(fill_mib)
    lines = (*plain.lines, "Each client signs in as its own user, over TLS; who has no document is tried last.")
    return replace(plain, lines=lines, act=_filled_and_guarded(fill_mib))


def _growth(fill_mib: int) -> Chapter:
    return Chapter(
        "Three brokers become six",
        ("Spark plans what three VMs more get of what is there; then a second topic is created and filled.",),
        _grown(3, 6, fill_mib),
    )


_TRAFFIC, _SECURED_TRAFFIC, _GROWTH = _traffic(FILL_MIB), _secured_traffic(FILL_MIB), _growth(SECOND_FILL_MIB)
_SHRINKING = Chapter("Six become three", ("the newest leave: emptied in one plan, stopped, deleted.",), _sized(6, 3))
_AUDIT = Chapter(
    "The audit",
    ("everything is read again from offset 0, and compared with what was acknowledged.",),
    _audited,
)

_VERSION_ROLL = Chapter(
    "A changed spec rolls every VM",
    (
        "4.1.1 -> 4.2.0. Brokers, one rack at a time: a new VM joins, Spark plans the drain, replicas move under",
        "throttle, clients get time to notice, the old broker stops and its VM goes. Controllers are handed over:",
        "same id, same volume, same address. Then the feature levels are finalised.",
    ),
    _version("4.1.1", "4.2.0"),
)


def _founding(spec: str, *more: str) -> Chapter:
    return Chapter(
        "A spec becomes a cluster",
        (
            f"examples/{spec} asks for 3 brokers and 3 KRaft controllers on Kafka 4.1.1 in three zones. "
            "Terraform makes six VMs",
            "(process groups with an address and a disk each); the agent on each VM starts what its document says.",
            *more,
        ),
        _founded,
    )


TALES: Mapping[DemoKind, Tale] = {
    "secured": Tale(
        EXAMPLES / "secured.yaml",
        (
            _SERVER,
            _founding(
                "secured.yaml",
                "Nodes speak TLS to one another: each VM makes a key of its own, which the cluster's CA certifies.",
            ),
            Chapter(
                "Users, and what each may do",
                (
                    "examples/secured-users.yaml declares who may sign in, and to what they have a right; all else is "
                    "refused.",
                    "Kedge makes each password, and gives it away once: in no file, event or log is one.",
                ),
                _signed_in,
            ),
            _SECURED_TRAFFIC,
            _VERSION_ROLL,
            _GROWTH,
            _SHRINKING,
            _AUDIT,
        ),
    ),
    "plaintext": Tale(
        EXAMPLES / "orders.yaml",
        (_SERVER, _founding("orders.yaml"), _TRAFFIC, _VERSION_ROLL, _GROWTH, _SHRINKING, _AUDIT),
    ),
    "zookeeper": Tale(
        EXAMPLES / "zookeeper.yaml",
        (
            _SERVER,
            Chapter(
                "A spec becomes a cluster",
                (
                    "examples/zookeeper.yaml asks for 3 brokers and 3 ZooKeeper servers on Kafka 3.8.1 in three zones. "
                    "Servers start first;",
                    "Kedge writes the cluster id into them before a broker may start, which would make up its own. All "
                    "of it speaks plaintext.",
                ),
                _founded,
            ),
            _TRAFFIC,
            Chapter(
                "A changed spec rolls every VM, in three rolls",
                (
                    "3.8.1 -> 3.9.1. First the brokers, drained one by one, with inter.broker.protocol.version held at "
                    "3.8; then the servers",
                    "of the ensemble, handed over with id, volume and address, the leader last. Until then there is a "
                    "way back. After the",
                    "soak the protocol becomes 3.9: every broker is started once more, under a lock in ZooKeeper. The "
                    "fourth roll of older",
                    "guides, log.message.format.version, is skipped: the plan says why.",
                ),
                _version("3.8.1", "3.9.1"),
            ),
            Chapter(
                "A ZooKeeper server's VM is killed",
                (
                    f"two of three servers go on. After {LOSS_GRACE_S} s (5 minutes by default) its id, volume and "
                    "address pass to a new VM:",
                    "the members of the ensemble are what they were, and no broker is restarted for it.",
                ),
                _server_killed,
            ),
            _GROWTH,
            _SHRINKING,
            _AUDIT,
        ),
        {"KEDGE_LOOP__LOSS_GRACE_S": str(LOSS_GRACE_S)},
    ),
}


def shorter(tale: Tale) -> Tale:
    """The same with less data."""
    made = {_TRAFFIC: _traffic, _SECURED_TRAFFIC: _secured_traffic, _GROWTH: _growth}
    less = {chapter: make(SHORT_FILL_MIB) for chapter, make in made.items()}
    return replace(tale, chapters=tuple(less.get(chapter, chapter) for chapter in tale.chapters))
