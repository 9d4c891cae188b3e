"""Users of clusters."""

from controlplane.api.schemas import commands as command_api, kafka_users as user_api
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part


class KafkaUserCalls(ApiCalls):
    def kafka_users(self, name: str, *, match: str = "") -> user_api.KafkaUsersOut:
        """The declared users of a cluster with that in their name."""
        asked = {"q": match} if match else {}
        return self.whole_of(name, "users", user_api.KafkaUsersOut, of="users", params=asked)

    def kafka_user(self, name: str, user: str) -> user_api.KafkaUserOut:
        return self.get_of(name, f"users/{part(user)}", user_api.KafkaUserOut)

    def delete_kafka_user(self, name: str, user: str, order: user_api.DeleteKafkaUserIn) -> command_api.CommandOut:
        """Records the tombstone of a user, or lets go of it."""
        return self.post_of(name, f"users/{part(user)}/delete", order, command_api.CommandOut)

    def rotate_password(self, name: str, user: str, order: user_api.RotatePasswordIn) -> command_api.CommandOut:
        """Has another password made for a SCRAM user."""
        return self.post_of(name, f"users/{part(user)}/password/rotate", order, command_api.CommandOut)

    def collect_password(self, name: str, user: str) -> user_api.KafkaPasswordOut:
        """The password of a SCRAM user, which is told once."""
        return self.post_of(
            name, f"users/{part(user)}/password/collect", user_api.CollectPasswordIn(), user_api.KafkaPasswordOut
        )

    def sign_certificate(self, name: str, user: str, order: user_api.CertificateIn) -> user_api.CertificateOut:
        """Has a key of a user signed."""
        return self.post_of(name, f"users/{part(user)}/certificate", order, user_api.CertificateOut)
