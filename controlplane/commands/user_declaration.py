"""What is recorded of a user's document. Pure."""

from events import user_facts as facts
from events.spec.fields import fields_of
from events.spec.user_model import KafkaUserDocument, UserQuotas
from events.spec.user_rules import kafka_host


def user_declaration_of(document: KafkaUserDocument) -> facts.UserDeclaration:
    """Its rights one by one, sorted, hosts as Kafka compares them; its quotas by Kafka's names."""
    bindings = {
        facts.AclBinding(
            acl.resource.type, acl.resource.name, acl.resource.pattern_type, operation, kafka_host(acl.host)
        )
        for acl in document.spec.authorization.acls
        for operation in acl.operations
    }
    quotas = {name: getattr(document.spec.quotas, name) for name, _, _ in fields_of(UserQuotas)}
    return facts.UserDeclaration(
        name=document.user,
        authentication=document.spec.authentication.type,
        acls=tuple(sorted(bindings)),
        quotas={name: value for name, value in quotas.items() if value is not None},
        owner=document.metadata.owner,
        labels=dict(document.metadata.labels),
    )
