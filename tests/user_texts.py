"""Documents of users, as text and as a file declares them."""

from controlplane.cluster.commands import UserDeclared
from events.spec.document import load_documents

READ_PAY = "{resource: {type: topic, name: pay-, patternType: prefix}, operations: [Read, Describe]}"


def user_text(name: str, *, cluster: str = "orders", type_: str = "scram-sha-512", acls: str = "", **spec: str) -> str:
    """A user's document. `acls` and the values of `spec` are written as YAML writes them."""
    rights = f"  authorization: {{acls: [{acls}]}}\n" if acls else ""
    more = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    return (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaUser\nmetadata: {{name: {name}}}\nspec:\n  cluster: {cluster}\n"
        f"  authentication: {{type: {type_}}}\n{rights}{more}"
    )


def declared_users(*texts: str) -> tuple[UserDeclared, ...]:
    """The users of a file. Raises AssertionError with its problems."""
    loaded = load_documents("---\n".join(texts), file="users.yaml")
    assert loaded.ok, loaded.problems
    return tuple(UserDeclared(u, at) for u, at in zip(loaded.users, loaded.user_positions, strict=True))
