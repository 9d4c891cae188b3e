"""A cluster's history as commands ask for it: what it folds to, what was done before, and by which command. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.cluster import commands, user_commands
from controlplane.cluster.view import ClusterView
from events.envelope import Recorded


@dataclass(frozen=True, slots=True)
class CommandHistory:
    """A cluster's stream and what it folds to."""

    events: Sequence[Recorded]
    view: ClusterView

    def of_command(self, command_id: str) -> bool:
        """Whether anything was recorded for that command."""
        return any(e.command_id == command_id for e in self.events)

    def has(self, command: commands.Command) -> bool:
        """Whether it was done before. Raises CommandRefused where its id is that of something else."""
        found = [e for e in self.events if e.command_id == command.command_id]
        kinds = _RECORDED_AS.get(type(command))
        if found and (found[-1].actor != command.actor or (kinds is not None and found[-1].type not in kinds)):
            message = f"the id of this command is that of another one of {command.name}: {found[-1].type}, by "
            message += f"{found[-1].actor}"
            raise commands.CommandRefused("command-id-taken", message, "Ask for it again; from git, by another commit.")
        return bool(found)


_RECORDED_AS: dict[type[commands.Command], frozenset[str]] = {
    commands.DeclareCluster: frozenset({"cluster.declared", "cluster.source_changed"}),
    commands.DeclareTopics: frozenset({"topics.declared"}),
    commands.DeleteCluster: frozenset({"cluster.deletion_requested"}),
    commands.DeleteTopic: frozenset({"topic.deletion_requested"}),
    commands.DeclareUsers: frozenset({"users.declared"}),
    user_commands.DeleteUser: frozenset({"user.deletion_requested", "user.released"}),
    commands.RebalanceCluster: frozenset({"rebalance.requested"}),
}
"""What commands record that are counted as done by somebody else: of a proposal, of a file in git."""
