"""A `Policy` document: whom it speaks of, what it forbids, what it leaves to a second person, and its own tests.

It lies in the home of the server, never beside the specs it governs: whoever may change those may not change this.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from events.spec.housekeeping import TierName

POLICY_KIND = "Policy"


class PolicyPart(BaseModel):
    """Base of every mapping in a policy: frozen, camelCase in YAML, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_alias=True, validate_by_name=True
    )


def _sound_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _listed(value: Any) -> Any:
    """One document alone is a list of one."""
    return [value] if isinstance(value, dict) else value


Pattern = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_sound_pattern)]
"""A regular expression the whole name has to match."""
Words = Annotated[tuple[str, ...], Field(max_length=200)]
Prefix = Annotated[str, Field(min_length=1, max_length=249)]
Prefixes = Annotated[tuple[Prefix, ...], Field(min_length=1, max_length=20)]
TEAM, EVERY_TEAM = "{team}", "*"
"""In a prefix the team; as a team each one that is not named."""
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class Money(PolicyPart):
    """An amount a month. Prices in another currency are unknown: nobody converts them."""

    amount: Decimal = Field(ge=0)
    currency: str = Field(pattern="^[A-Z]{3}$")


class Selector(PolicyPart):
    """What a policy speaks of; every key that is given has to fit, an empty one fits everything.

    With `tiers` it speaks of topics of these tiers alone; whose a topic is, its cluster says.
    """

    teams: Words = ()
    labels: dict[str, str] = {}
    clouds: Words = ()
    tiers: tuple[TierName, ...] = ()


class TierLimits(PolicyPart):
    """The least a topic of a tier has."""

    min_replicas: Count = 1
    min_isr: Count = 1


class Limits(PolicyPart):
    """What is refused. Empty lists and None forbid nothing."""

    clouds: Words = ()
    accounts: Words = ()
    """Each `CLOUD/ACCOUNT`."""
    regions: Words = ()
    machines: Words = ()
    max_brokers: Count | None = None
    max_partitions: Count | None = None
    max_topic_partitions: Count | None = None
    cluster_names: Pattern | None = None
    topic_names: Pattern | None = None
    user_names: Pattern | None = None
    resource_prefixes: dict[str, Prefixes] = {}
    """Team -> how topics, groups and transactional ids begin that rights of its users may be about."""
    tiers: dict[TierName, TierLimits] = {}
    monthly_cost: Money | None = None
    max_rolling: Count | None = None


class Quota(PolicyPart):
    """What each team may have in all its clusters together that the policy speaks of."""

    max_brokers: Count | None = None
    max_partitions: Count | None = None
    monthly_cost: Money | None = None


NO_QUOTA = Quota()


class Reserved(PolicyPart):
    """What a second person has to say yes to."""

    tombstone: bool = False
    allow_unavailable: bool = False
    owner_change: bool = False
    account_change: bool = False
    chaos: bool = False
    rebalance: bool = False
    administrators: bool = False
    wide_rights: bool = False
    monthly_cost: Money | None = None
    rolling: Count | None = None


class PolicyTest(PolicyPart):
    """A change and the answer expected of this policy alone. `spec` and `inForce` are documents of a spec file."""

    name: str = Field(min_length=1, max_length=200)
    change: Literal["declare", "delete"] = "declare"
    spec: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ()
    in_force: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ()
    rolling: Count | None = None
    expect: Literal["allowed", "refused", "reserved"]
    says: str = ""


class PolicyMetadata(PolicyPart):
    """What it is called."""

    name: str = Field(pattern="^[a-z][a-z0-9-]{0,62}$")


class Policy(PolicyPart):
    """One document."""

    api_version: Literal["kedge/v1alpha1"]
    kind: Literal["Policy"]
    metadata: PolicyMetadata
    selector: Selector = Selector()
    limits: Limits = Limits()
    quota: Quota = NO_QUOTA
    reserved: Reserved = Reserved()
    tests: tuple[PolicyTest, ...] = Field(default=(), max_length=200)

    @model_validator(mode="after")
    def _quota_is_of_clusters(self) -> "Policy":
        if self.selector.tiers and self.quota != NO_QUOTA:
            raise ValueError("a quota is of clusters: a policy with `selector.tiers` speaks of topics alone")
        return self

    @property
    def name(self) -> str:
        return self.metadata.name
