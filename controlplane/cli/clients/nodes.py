"""Nodes of a cluster, and the replicas on them."""

from controlplane.api.schemas import (
    certificates as certificate_api,
    commands as command_api,
    moves as move_api,
    nodes as node_api,
)
from controlplane.cli.clients.calls import ApiCalls


class NodeCalls(ApiCalls):
    def restart(self, name: str, order: node_api.RestartIn) -> command_api.CommandOut:
        return self.post_of(name, "restart", order, command_api.CommandOut)

    def certificates(self, name: str) -> certificate_api.CertificatesOut:
        """What nodes show each other, and the CAs."""
        return self.get_of(name, "certificates", certificate_api.CertificatesOut)

    def revoke_certificates(self, name: str, order: certificate_api.RevokeCertificatesIn) -> command_api.CommandOut:
        """Nobody recognises that VM any more, and it is replaced."""
        return self.post_of(name, "revoke-certificates", order, command_api.CommandOut)

    def replace_ca(self, name: str, order: certificate_api.ReplaceAuthorityIn) -> command_api.CommandOut:
        """Has a CA replaced, goes on with it, or back."""
        return self.post_of(name, "replace-ca", order, command_api.CommandOut)

    def replace(self, name: str, order: node_api.ReplaceIn) -> command_api.CommandOut:
        """Asks for one node's next VM."""
        return self.post_of(name, "replace", order, command_api.CommandOut)

    def plan_moves(self, name: str, order: move_api.MovesPlanIn) -> move_api.MovesPlanOut:
        """What emptying brokers, or a rebalance, would move now."""
        return self.post_of(name, "moves/plan", order, move_api.MovesPlanOut)

    def evacuate(self, name: str, order: move_api.EvacuateIn) -> command_api.CommandOut:
        """Asks for brokers to be emptied and kept empty."""
        return self.post_of(name, "evacuate", order, command_api.CommandOut)

    def fix_offline(self, name: str, order: node_api.FixOfflineIn) -> command_api.CommandOut:
        """Have replicas of brokers that do not serve made anew on others."""
        return self.post_of(name, "fix-offline", order, command_api.CommandOut)

    def empty_disk(self, name: str, order: node_api.EmptyDiskIn) -> command_api.CommandOut:
        """Have what is in a log directory moved onto the others of its broker."""
        return self.post_of(name, "empty-disk", order, command_api.CommandOut)

    def even_disks(self, name: str, order: node_api.EvenDisksIn) -> command_api.CommandOut:
        """Have the disks of a broker evened out."""
        return self.post_of(name, "even-disks", order, command_api.CommandOut)

    def cancel_disk_moves(self, name: str, order: node_api.CancelDiskMovesIn) -> command_api.CommandOut:
        """End moves between the disks of a broker."""
        return self.post_of(name, "disk-moves/cancel", order, command_api.CommandOut)

    def demote(self, name: str, order: node_api.BrokersIn) -> command_api.CommandOut:
        """Take leadership off brokers."""
        return self.post_of(name, "demote", order, command_api.CommandOut)

    def undemote(self, name: str, order: node_api.BrokersIn) -> command_api.CommandOut:
        """Let demoted brokers lead again."""
        return self.post_of(name, "undemote", order, command_api.CommandOut)

    def readmit(self, name: str, order: node_api.BrokersIn) -> command_api.CommandOut:
        """Lets brokers receive replicas again."""
        return self.post_of(name, "readmit", order, command_api.CommandOut)

    def rebalance(self, name: str, order: node_api.RebalanceIn) -> command_api.CommandOut:
        """Asks for replicas to be spread anew."""
        return self.post_of(name, "rebalance", order, command_api.CommandOut)

    def cancel_rebalance(self, name: str, order: node_api.CancelRebalanceIn) -> command_api.CommandOut:
        """Ends the rebalance in hand after its batch."""
        return self.post_of(name, "rebalance/cancel", order, command_api.CommandOut)

    def rolls(self, name: str, *, limit: int = 20, at: str = "") -> node_api.RollsOut:
        """The rolls of a cluster, the newest first; with `at` as they were then."""
        params = {"limit": str(limit), **({"at": at} if at else {})}
        return self.get_of(name, "rolls", node_api.RollsOut, params=params)

    def restart_check(self, name: str) -> node_api.RestartCheckOut:
        """Whether each service may be started anew now."""
        return self.get_of(name, "restart-check", node_api.RestartCheckOut)
