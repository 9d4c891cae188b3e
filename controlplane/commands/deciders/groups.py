"""What people ask for of consumer groups. Pure; what the brokers say of the group is looked at before, see
`controlplane.background.consumer_groups.resets`.
"""

from collections.abc import Mapping

from controlplane.cluster.commands import CommandRefused, NoteOffsetsReset, ResetOffsets
from controlplane.cluster.request_limits import MOST_OFFSETS
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from events import facts


def reset_asked(view: ClusterView, command: ResetOffsets, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused."""
    count = len(command.offsets)
    if not count:
        raise CommandRefused("no-offset", f"no offset of {command.group} was named", "Plan the reset again.")
    if count > MOST_OFFSETS:
        message = f"{count} offsets of {command.group} at once; at most {MOST_OFFSETS} are reset together"
        raise CommandRefused("too-many-offsets", message, "Reset some of its topics after the others.")
    fact = facts.OffsetsResetRequested(command.reset, command.group, command.offsets, asked_by(command, command.reason))
    return CommandDecision(fact, f"{count} {'offset of' if count == 1 else 'offsets of'} {command.group} put elsewhere")


def reset_answered(view: ClusterView, command: NoteOffsetsReset, _: Lookups = NOTHING) -> CommandDecision:
    """What the brokers have answered, of the reset in hand."""
    known = view.requests.resets.get(command.group)
    if known is None or known.id != command.reset or known.over:
        return CommandDecision(None, f"nothing of {command.group} waits for an answer")
    return CommandDecision(
        facts.OffsetsReset(command.reset, command.group, command.refused),
        answer_words(known.partitions, command.refused),
    )


def answer_words(partitions: int, refused: Mapping[str, str]) -> str:
    """What came of a reset, in words."""
    offsets = "offset" if partitions == 1 else "offsets"
    if not refused:
        return f"{partitions} {offsets} {'was' if partitions == 1 else 'were'} put elsewhere"
    first, words = next(iter(sorted(refused.items())))
    stayed = "stayed as it was" if len(refused) == 1 else "stayed as they were"
    return f"{len(refused)} of {partitions} {offsets} {stayed}: {first}: {words}"
