"""Topics and consumer groups."""

from controlplane.api.schemas import (
    commands as command_api,
    groups as group_api,
    resets as reset_api,
    topics as topic_api,
)
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part
from controlplane.runtime.path_names import is_path_part


class TopicCalls(ApiCalls):
    def topics(self, name: str, *, match: str = "") -> topic_api.TopicsOut:
        """The topics of a cluster, declared and observed, with that in their name."""
        path, asked = "topics", {"q": match} if match else {}
        return self.whole_of(name, path, topic_api.TopicsOut, of="topics", params=asked)

    def unhealthy_partitions(self, name: str, *, match: str = "") -> topic_api.UnhealthyPartitionsOut:
        """The partitions of all topics that are not in sync, the worst first."""
        path, reply = "ailing-partitions", topic_api.UnhealthyPartitionsOut
        return self.whole_of(name, path, reply, of="partitions", params={"q": match} if match else {})

    def topic(self, name: str, topic: str) -> topic_api.TopicOut:
        return self.get_of(name, f"topics/{part(topic)}", topic_api.TopicOut)

    def groups(self, name: str, *, match: str = "", after: str = "", limit: int = 100) -> group_api.GroupsOut:
        """A page of the consumer groups of a cluster, by name."""
        params = {"q": match, "after": after, "limit": str(limit)}
        return self.get_of(name, "groups", group_api.GroupsOut, params=params)

    def group(self, name: str, group: str) -> group_api.GroupDetailOut:
        if not is_path_part(group):
            return self.get_of(name, "group", group_api.GroupDetailOut, params={"group": group})
        return self.get_of(name, f"groups/{part(group)}", group_api.GroupDetailOut)

    def plan_reset(self, name: str, order: reset_api.ResetPlanIn) -> reset_api.ResetPlanOut:
        """What putting offsets of a group elsewhere would mean now."""
        return self.post_of(name, "offset-resets/plan", order, reset_api.ResetPlanOut)

    def reset_offsets(self, name: str, order: reset_api.ResetIn) -> reset_api.ResetOut:
        """Puts offsets of a group elsewhere, as planned."""
        return self.post_of(name, "offset-resets", order, reset_api.ResetOut)

    def adopt_topic(self, name: str, topic: str, order: topic_api.AdoptTopicIn) -> command_api.CommandOut:
        """Has Kedge keep a topic that was made outside."""
        return self.post_of(name, f"topics/{part(topic)}/adopt", order, command_api.CommandOut)

    def delete_topic(self, name: str, topic: str, order: topic_api.DeleteTopicIn) -> command_api.CommandOut:
        """Records the tombstone of a topic."""
        return self.post_of(name, f"topics/{part(topic)}/delete", order, command_api.CommandOut)

    def change_replication_factor(self, name: str, order: topic_api.ReplicationFactorIn) -> command_api.CommandOut:
        """Has topics get another number of replicas."""
        return self.post_of(name, "replication-factor", order, command_api.CommandOut)

    def cancel_replication_factor(
        self, name: str, order: topic_api.CancelReplicationFactorIn
    ) -> command_api.CommandOut:
        """Ends what was asked for the replication factor of topics."""
        return self.post_of(name, "replication-factor/cancel", order, command_api.CommandOut)
