"""What the HTTP API says of ACLs: those that Kafka has, and what they come to."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class AclOut(Message):
    """One ACL as Kafka has it."""

    id: str = Field(description="of this ACL, as long as it is there")
    principal: str
    resource: str = Field(description="topic, group, cluster, transactional-id, delegation-token or user")
    name: str
    pattern: str = Field(description="literal or prefix")
    operation: str
    permission: str = Field(description="allow or deny")
    host: str = Field(description="one address, or `*`")
    declared: str = Field(
        description="declared: by the document of its user; differs: that document says otherwise, and it is taken "
        "away; kedge: one of Kedge's own, which it makes anew where it is gone; nobody: no document declares its "
        "principal, and it is left alone"
    )


class AclsOut(Message):
    """ACLs of a cluster. `authorizer` false: its brokers have none, and everybody may do everything."""

    cluster: str
    authorizer: bool
    acls: list[AclOut]


class AclExplainOut(Message):
    """What the authorizer of a cluster says to one request."""

    cluster: str
    principal: str
    resource: str
    name: str
    operation: str
    host: str
    allowed: bool
    rule: str = Field(description="by what: a super user, an ACL that denies, one that allows, no ACL, no authorizer")
    sentence: str
    acls: list[AclOut] = Field(description="those that decide")
    declared_at: datetime | None = Field(description="when the user was declared; null where it was not")
