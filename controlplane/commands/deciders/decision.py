"""What comes of a command that is not refused."""

from dataclasses import dataclass

from controlplane.cluster.commands import Command


@dataclass(frozen=True, slots=True)
class CommandDecision:
    """The fact to record, None where there is nothing to do; what to tell the person; and a fact that goes before it,
    in the same append."""

    fact: object | None
    sentence: str
    before: object | None = None


def asked_by(command: Command, reason: str) -> str:
    """`asked by anna: new certificates`."""
    who = command.actor.partition(":")[2] or command.actor
    return f"asked by {who}{f': {reason}' if reason else ''}"
