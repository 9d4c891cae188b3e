"""Users of a simulated cluster: what people asked for, as it is recorded, and what Kafka has of it."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from controlplane.kafka.scram import scram_credential
from events import user_facts as facts
from tests.sim.world import World

PAY_READ = facts.AclBinding("topic", "pay-", "prefix", "Read")
PAY_WRITE = facts.AclBinding("topic", "pay-", "prefix", "Write")
GROUP_READ = facts.AclBinding("group", "alice-", "prefix", "Read")
NONE: Mapping[str, int] = MappingProxyType({})


def declare_user(
    world: World,
    name: str,
    acls: Iterable[facts.AclBinding] = (),
    quotas: Mapping[str, int] = NONE,
    authentication: str = "scram-sha-512",
    client_quotas: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    tier: str = "",
) -> None:
    """As `kedge apply -f users.yaml`."""
    user = facts.UserDeclaration(name, authentication, tuple(sorted(acls)), quotas, "payments", {}, client_quotas, tier)
    world.person(facts.UsersDeclared((user,), "api", "users.yaml", ""))


def delete_user(world: World, name: str) -> None:
    """Its tombstone."""
    world.person(facts.UserDeletionRequested(name, "done"))


def another_password(world: World, name: str) -> None:
    """A person wants a new one."""
    world.person(facts.UserPasswordRequested(name, world.view().users.passwords + 1, "it leaked"))


def user_troubles(world: World) -> dict[str, str]:
    """Users in trouble, and the reason of each."""
    return {name: trouble.reason for name, trouble in world.view().users.troubles.items()}


def lets_in(world: World, user: str, number: int) -> bool:
    """Whether Kafka takes the password of this number."""
    given = world.kafka.users.given.get(user)
    if given is None or user not in world.kafka.users.credentials:
        return False
    return given == scram_credential(f"{user}-{number}", iterations=given.iterations, salt=given.salt)


def acls_in_kafka(world: World, user: str) -> set[str]:
    """Its ACLs as sentences."""
    return {str(acl) for acl in world.kafka.users.acls or () if acl.principal == f"User:{user}"}
