"""ACLs, quotas and credentials of users.

Neither client library has calls for all of it: Kafka's own messages (KIP-140, KIP-546, KIP-554), as kafka-python knows
them, are sent. All that is there is read with one request a kind: 50,000 ACLs are 2 MB and 0.2 s of decoding.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest,
)

from controlplane.kafka.admin_calls.acl_codes import OPERATION, PATTERN, PERMISSION, RESOURCE
from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.admin_calls.quotas import alteration, entity_of, quotas_in
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable, fault_of, require_ok
from controlplane.kafka.scram import ScramCredential
from planner.rights.acls import Acl
from planner.rights.seen import SCRAM_SHA_256, SCRAM_SHA_512, RightsSeen
from planner.rights.step import RightsStage, RightsStep, UserStep, acls_in
from planner.rights.wanted import QuotaEntity

_MECHANISMS = {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}
_MECHANISM_CODES = {name: code for code, name in _MECHANISMS.items()}
_EVERY = 1
"""ANY, of types, patterns, operations and permissions."""
_ANY_NAME = 2
"""Match type of entities that name whoever it is."""
_SECURITY_DISABLED, _NO_CREDENTIAL = 54, 91


class RightsCalls(AdminCalls):
    """See `RightsGateway`."""

    def user_rights(self) -> RightsSeen:
        with self._call() as (connection, deadline):
            return RightsSeen(
                _read_acls(connection, deadline),
                _read_quotas(connection, deadline),
                _read_credentials(connection, deadline),
            )

    def acls_of(self, principals: Collection[str]) -> tuple[Acl, ...] | None:
        found: list[Acl] = []
        with self._call() as (connection, deadline):
            for principal in sorted(principals):
                acls = _read_acls(connection, deadline, principal)
                if acls is None:
                    return None
                found += acls
        return tuple(found)

    def change_user_rights(self, step: RightsStep, credentials: Mapping[str, ScramCredential]) -> Mapping[str, str]:
        refused: dict[str, str] = {}
        with self._call() as (connection, deadline):
            node = self._controller(connection, deadline)

            def ask(request: Any, stage: RightsStage) -> Any:
                return connection.ask(request, what=stage.value, deadline=deadline, node=node)

            for stage, users in step.stages():
                left = [user for user in users if user.name not in refused]
                if left:
                    refused |= _REQUESTS[stage](stage, left, credentials, ask, connection.name)
        return refused


Ask = Callable[[Any, RightsStage], Any]


def _read_acls(connection: Connection, deadline: Deadline, principal: str | None = None) -> tuple[Acl, ...] | None:
    """All of them, or those of one principal; None where the brokers have no authorizer."""
    what = "reading ACLs"
    request = DescribeAclsRequest(
        resource_type_filter=_EVERY,
        resource_name_filter=None,
        pattern_type_filter=_EVERY,
        principal_filter=principal,
        host_filter=None,
        operation=_EVERY,
        permission_type=_EVERY,
    )
    answer = connection.ask(request, what=what, deadline=deadline)
    if answer.error_code == _SECURITY_DISABLED:
        return None
    require_ok(answer, what=what, where=connection.name)
    found = []
    for r in answer.resources:
        resource, pattern, name = RESOURCE.name(r.resource_type), PATTERN.name(r.pattern_type), r.resource_name
        for a in r.acls:
            operation, permission = OPERATION.name(a.operation), PERMISSION.name(a.permission_type)
            found.append(Acl(a.principal, resource, name, pattern, operation, permission, a.host))
    return tuple(found)


def _read_quotas(connection: Connection, deadline: Deadline) -> dict[QuotaEntity, dict[str, float]]:
    """Of every entity that names a user."""
    what = "reading quotas of users"
    component = DescribeClientQuotasRequest.ComponentData(entity_type="user", match_type=_ANY_NAME, match=None)
    request = DescribeClientQuotasRequest(components=[component], strict=False)
    answer = connection.ask(request, what=what, deadline=deadline)
    require_ok(answer, what=what, where=connection.name)
    return {entity: values for entity, values in quotas_in(answer) if dict(entity).get("user") is not None}


def _read_credentials(connection: Connection, deadline: Deadline) -> dict[str, dict[str, int]]:
    what = "reading which users have a password"
    answer = connection.ask(DescribeUserScramCredentialsRequest(users=None), what=what, deadline=deadline)
    require_ok(answer, what=what, where=connection.name)
    return {
        r.user: {_MECHANISMS.get(c.mechanism, str(c.mechanism)): c.iterations for c in r.credential_infos}
        for r in answer.results
        if r.error_code == 0
    }


def _create_acls(
    stage: RightsStage, users: Sequence[UserStep], _: Mapping[str, ScramCredential], ask: Ask, where: str
) -> dict[str, str]:
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=RESOURCE.code(acl.resource),
            resource_name=acl.name,
            resource_pattern_type=PATTERN.code(acl.pattern),
            principal=acl.principal,
            host=acl.host,
            operation=OPERATION.code(acl.operation),
            permission_type=PERMISSION.code(acl.permission),
        )
        for acl in acls_in(stage, users)
    ]
    answer = ask(CreateAclsRequest(creations=creations), stage)
    return _refusals(zip(_owners(stage, users), answer.results, strict=True), stage, where)


def _delete_acls(
    stage: RightsStage, users: Sequence[UserStep], _: Mapping[str, ScramCredential], ask: Ask, where: str
) -> dict[str, str]:
    filters = [
        DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=RESOURCE.code(acl.resource),
            resource_name_filter=acl.name,
            pattern_type_filter=PATTERN.code(acl.pattern),
            principal_filter=acl.principal,
            host_filter=acl.host,
            operation=OPERATION.code(acl.operation),
            permission_type=PERMISSION.code(acl.permission),
        )
        for acl in acls_in(stage, users)
    ]
    answer = ask(DeleteAclsRequest(filters=filters), stage)
    refused: dict[str, str] = {}
    for owner, result in zip(_owners(stage, users), answer.filter_results, strict=True):
        refused |= _refusals([(owner, one) for one in (result, *result.matching_acls)], stage, where)
    return refused


def _owners(stage: RightsStage, users: Sequence[UserStep]) -> list[str]:
    return [user.name for user in users for _ in acls_in(stage, [user])]


def _alter_quotas(
    stage: RightsStage, users: Sequence[UserStep], _: Mapping[str, ScramCredential], ask: Ask, where: str
) -> dict[str, str]:
    owners = {entity: user.name for user in users for entity in user.quotas}
    answer = ask(alteration({entity: change for user in users for entity, change in user.quotas.items()}), stage)
    return _refusals([(owners[entity_of(e)], e) for e in answer.entries], stage, where)


def _set_credentials(
    stage: RightsStage, users: Sequence[UserStep], credentials: Mapping[str, ScramCredential], ask: Ask, where: str
) -> dict[str, str]:
    sha_512 = _MECHANISM_CODES[SCRAM_SHA_512]
    upsertions = [
        AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=user.name,
            mechanism=sha_512,
            iterations=credentials[user.name].iterations,
            salt=credentials[user.name].salt,
            salted_password=credentials[user.name].salted_password,
        )
        for user in users
    ]
    answer = ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=upsertions), stage)
    return _refusals([(r.user, r) for r in answer.results], stage, where)


def _remove_credentials(
    stage: RightsStage, users: Sequence[UserStep], _: Mapping[str, ScramCredential], ask: Ask, where: str
) -> dict[str, str]:
    """One mechanism a request: a user may be named only once in each."""
    refused: dict[str, str] = {}
    for mechanism, code in sorted(_MECHANISM_CODES.items()):
        deletions = [
            AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user.name, mechanism=code)
            for user in users
            if mechanism in user.mechanisms
        ]
        if deletions:
            answer = ask(AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[]), stage)
            gone = [(r.user, r) for r in answer.results if r.error_code != _NO_CREDENTIAL]
            refused |= _refusals(gone, stage, where)
    return refused


def _refusals(results: Iterable[tuple[str, Any]], stage: RightsStage, where: str) -> dict[str, str]:
    """Who was refused, in Kafka's words. What is only not now is raised."""
    refused: dict[str, str] = {}
    for user, result in results:
        if not result.error_code:
            continue
        fault = fault_of(result.error_code, result.error_message, what=stage.value, where=where)
        if isinstance(fault, KafkaUnavailable):
            raise fault
        refused.setdefault(user, f"{stage.value}: {fault.why}")
    return refused


_REQUESTS: Mapping[
    RightsStage, Callable[[RightsStage, Sequence[UserStep], Mapping[str, ScramCredential], Ask, str], dict[str, str]]
] = {
    RightsStage.REMOVE_CREDENTIALS: _remove_credentials,
    RightsStage.SET_QUOTAS: _alter_quotas,
    RightsStage.DENY: _create_acls,
    RightsStage.ALLOW: _create_acls,
    RightsStage.END_ALLOW: _delete_acls,
    RightsStage.END_DENY: _delete_acls,
    RightsStage.REMOVE_QUOTAS: _alter_quotas,
    RightsStage.SET_CREDENTIALS: _set_credentials,
}
