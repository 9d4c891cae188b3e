"""`[[freezes]]` in the server's settings: times in which nothing voluntary begins on the clusters named."""

from datetime import UTC, datetime

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from planner.rollout.windows import Freeze


class FreezeBinding(BaseModel):
    """One freeze. Named are clusters, owners (`metadata.owner`) and labels, all of which have to be there; nothing
    named: the whole fleet."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    begins: AwareDatetime = Field(default=datetime.min.replace(tzinfo=UTC), alias="from")
    until: AwareDatetime
    reason: str = Field(min_length=1, max_length=200)
    clusters: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    labels: dict[str, str] = {}
    silence: bool = False

    @model_validator(mode="after")
    def _has_a_duration(self) -> "FreezeBinding":
        if self.until <= self.begins:
            raise ValueError(f"the freeze {self.reason!r} ends before it begins: `from` goes before `until`")
        return self

    @property
    def freeze(self) -> Freeze:
        """The same as a value, in UTC."""
        return Freeze(
            self.begins.astimezone(UTC) if self.begins.year > 1 else self.begins,
            self.until.astimezone(UTC),
            self.reason,
            self.clusters,
            self.owners,
            dict(self.labels),
            silence=self.silence,
        )
