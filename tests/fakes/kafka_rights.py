"""ACLs, quotas and credentials of users in the fake. Part of `FakeKafka`."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.scram import ScramCredential
from planner.rights.acls import CLUSTER, Acl, AclRequest
from planner.rights.authorize import AclAnswer, authorize
from planner.rights.seen import SCRAM_SHA_512, RightsSeen
from planner.rights.step import QuotaChange, RightsStage, RightsStep, UserStep, acls_in
from planner.rights.wanted import QUOTAS, QuotaEntity, user_entity

NO_SECRETS: Mapping[str, ScramCredential] = MappingProxyType({})


class FakeRights:
    """What brokers have of users, and what was done to it."""

    def __init__(self) -> None:
        self.acls: set[Acl] | None = set()
        """None: the brokers have no authorizer."""
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.credentials: dict[str, dict[str, int]] = {}
        self.given: dict[str, ScramCredential] = {}
        """The credentials that were set last."""
        self.refusing: dict[str, str] = {}
        """Users that are refused whatever is asked, and Kafka's words."""
        self.requests_until_dead: int | None = None
        """So many more requests are answered, then nobody answers any more, until it is set anew."""
        self.reads = 0
        self.by_others = False
        """Somebody changed something by hand, and nothing was changed since."""
        self.before_request: Callable[[RightsStage], None] = lambda stage: None
        """Told of each request of a change before it is answered."""

    def seen(self) -> RightsSeen:
        self.reads += 1
        acls = None if self.acls is None else tuple(sorted(self.acls))
        quotas = {e: dict(v) for e, v in self.quotas.items() if dict(e).get("user") is not None}
        return RightsSeen(acls, quotas, {u: dict(c) for u, c in self.credentials.items()})

    def change(self, step: RightsStep, credentials: Mapping[str, ScramCredential]) -> Mapping[str, str]:
        refused: dict[str, str] = {}
        self.by_others = False
        for stage, users in step.stages():
            left = [user for user in users if user.name not in refused]
            if left:
                self.answer(stage)
            for user in left:
                problem = self.refusing.get(user.name) or self._problem(stage, user)
                if problem:
                    refused[user.name] = f"{stage.value}: {problem}"
                else:
                    self._do(stage, user, credentials)
        return refused

    def set_quotas(self, changes: Mapping[QuotaEntity, QuotaChange]) -> None:
        for entity, change in changes.items():
            merged = {**self.quotas.get(entity, {}), **change}
            self.quotas[entity] = {k: float(v) for k, v in merged.items() if v is not None}
            if not self.quotas[entity]:
                del self.quotas[entity]

    def authorize(self, request: AclRequest) -> AclAnswer:
        """What its authorizer says."""
        return authorize(request, self.acls or ())

    def answer(self, stage: RightsStage) -> None:
        self.before_request(stage)
        if self.requests_until_dead == 0:
            raise KafkaUnavailable(what=stage.value, where="fake-cluster", why="no broker answers")
        if self.requests_until_dead is not None:
            self.requests_until_dead -= 1

    def _problem(self, stage: RightsStage, user: UserStep) -> str:
        if stage in (RightsStage.DENY, RightsStage.ALLOW):
            if self.acls is None:
                return 'Kafka said "No Authorizer is configured." (SecurityDisabledError)'
            if any(acl.resource == "cluster" and acl.name != CLUSTER for acl in user.create):
                return (
                    'Kafka said "The only valid name for the CLUSTER resource is kafka-cluster" (InvalidRequestError)'
                )
        if stage is RightsStage.SET_QUOTAS:
            return next((said for change in user.quotas.values() if (said := _strange(change))), "")
        return ""

    def _do(self, stage: RightsStage, user: UserStep, credentials: Mapping[str, ScramCredential]) -> None:
        match stage:
            case RightsStage.DENY | RightsStage.ALLOW if self.acls is not None:
                self.acls |= set(acls_in(stage, [user]))
            case RightsStage.END_ALLOW | RightsStage.END_DENY if self.acls is not None:
                self.acls -= set(acls_in(stage, [user]))
            case RightsStage.SET_QUOTAS | RightsStage.REMOVE_QUOTAS:
                self.set_quotas(user.quotas)
            case RightsStage.SET_CREDENTIALS:
                self.given[user.name] = credentials[user.name]
                own = self.credentials.setdefault(user.name, {})
                own[SCRAM_SHA_512] = credentials[user.name].iterations
            case RightsStage.REMOVE_CREDENTIALS:
                own = self.credentials.get(user.name, {})
                left = {m: n for m, n in own.items() if m not in user.mechanisms}
                self.credentials.pop(user.name, None)
                self.credentials |= {user.name: left} if left else {}


def _strange(change: QuotaChange) -> str:
    strange = [key for key, value in change.items() if value and key not in QUOTAS]
    return f'Kafka said "Invalid configuration key {strange[0]}" (InvalidRequestError)' if strange else ""


class RightsCalls:
    """The part of the port that is about users."""

    users: FakeRights
    _require_quorum: Callable[[str], None]

    @property
    def default_producer_rate(self) -> float | None:
        """Of every user without its own, bytes/s."""
        return self.users.quotas.get(user_entity(None), {}).get("producer_byte_rate")

    @default_producer_rate.setter
    def default_producer_rate(self, bytes_per_s: float | None) -> None:
        self.users.set_quotas({user_entity(None): {"producer_byte_rate": bytes_per_s}})

    def producer_quota(self) -> float | None:
        self._require_quorum("reading quotas")
        return self.default_producer_rate

    def set_producer_quota(self, bytes_per_s: float | None) -> None:
        self._require_quorum("changing quotas")
        self.default_producer_rate = bytes_per_s

    def client_quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        self._require_quorum("reading quotas of clients")
        self.users.reads += 1
        return {e: dict(values) for e, values in self.users.quotas.items() if dict(e).get("user") is None}

    def change_client_quotas(self, changes: Mapping[QuotaEntity, QuotaChange]) -> Mapping[QuotaEntity, str]:
        self._require_quorum("setting quotas of clients")
        self.users.answer(RightsStage.SET_QUOTAS)
        self.users.by_others = False
        refused = {e: why for e, change in changes.items() if (why := self.users.refusing.get("") or _strange(change))}
        self.users.set_quotas({entity: change for entity, change in changes.items() if entity not in refused})
        return refused

    def user_rights(self) -> RightsSeen:
        self._require_quorum("reading ACLs")
        return self.users.seen()

    def acls_of(self, principals: Collection[str]) -> tuple[Acl, ...] | None:
        self._require_quorum("reading ACLs")
        acls = self.users.acls
        return None if acls is None else tuple(sorted(acl for acl in acls if acl.principal in principals))

    def change_user_rights(self, step: RightsStep, credentials: Mapping[str, ScramCredential]) -> Mapping[str, str]:
        self._require_quorum("changing what users may do")
        return self.users.change(step, credentials)
