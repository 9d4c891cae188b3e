"""What declaring a pair would do, in a line each, as `kedge plan` shows it, and the digest that pins it. Pure."""

from collections.abc import Iterator

from controlplane.cluster.commands import CommandRefused
from controlplane.commands.previews.kept import kept_digest
from controlplane.commands.previews.plan import moved_parts
from controlplane.fleet.failovers.state import RegisteredPair
from events.spec.change import pair_differences
from events.spec.failover_model import KafkaFailoverDocument


def pair_lines(known: RegisteredPair | None, document: KafkaFailoverDocument) -> Iterator[str]:
    """`+ failover` for a new one, `~ failover: what changes`; nothing for one that stays as it is. `known`: the living
    pair of that name."""
    declaration = known.view.declaration if known is not None else None
    if declaration is None:
        first, second = document.spec.clusters
        yield f"+ failover {document.pair}: {first} is the primary, {second} its {document.spec.mode} standby"
    elif declaration.document != document:
        changed = pair_differences(declaration.document, document)
        shown = [f"{one.path} {one.old} -> {one.new}" for one in changed]
        yield f"~ failover {document.pair}: {'; '.join(shown)}"


def pair_digest(known: RegisteredPair | None, document: KafkaFailoverDocument) -> str:
    """Pins what it means, and what it goes on from."""
    declaration = known.view.declaration if known is not None else None
    in_force = [known.uid, declaration.generation] if known is not None and declaration is not None else None
    return kept_digest(document.model_dump(mode="json", by_alias=True), in_force)


def refuse_moved_pair(known: RegisteredPair | None, document: KafkaFailoverDocument, pinned: str) -> None:
    """Raises CommandRefused where it is to be declared only as it was shown, and that has moved."""
    parts = ("its document", "what is in force of it")
    if moved := moved_parts(pinned, pair_digest(known, document), parts):
        message = f"the plan of the pair {document.pair} is not what it was: {' and '.join(moved)} changed"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")
