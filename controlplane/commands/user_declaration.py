"""What is recorded of a user's document. Pure."""

from events import user_facts as facts
from events.spec.quota_rules import values_of
from events.spec.user_model import KafkaUserDocument
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
    quotas = document.spec.quotas
    clients = {client.client_id: values_of(client) for client in quotas.by_client_id}
    if quotas.default_client_id is not None:
        clients[""] = values_of(quotas.default_client_id)
    return facts.UserDeclaration(
        name=document.user,
        authentication=document.spec.authentication.type,
        acls=tuple(sorted(bindings)),
        quotas=values_of(quotas),
        owner=document.metadata.owner,
        labels=dict(document.metadata.labels),
        client_quotas=clients,
        tier=document.spec.tier or "",
        deliver_to=document.spec.authentication.deliver_to or "",
    )
