"""From what came of a command to what the API says."""

from controlplane.api.schemas import commands as command_api, specs as spec_api
from controlplane.commands.handler import CommandOutcome


def applied_out(outcome: CommandOutcome) -> spec_api.AppliedOut:
    """What came of declaring one cluster."""
    return spec_api.AppliedOut.like(outcome, cluster=outcome.name)


def command_out(outcome: CommandOutcome) -> command_api.CommandOut:
    """What came of a command."""
    return command_api.CommandOut(cluster=outcome.name, changed=outcome.changed, sentence=outcome.sentence)
