"""`[planner]`: where drains and rebalances are planned."""

from pydantic import Field, model_validator

from controlplane.server.sections.section import Section


class PlannerSection(Section):
    """Of the planner."""

    spark_master: str = Field(
        default="local[*]", description="`local[*]`, a standalone/YARN/Kubernetes master, `sc://`; `off`: no Spark"
    )
    require_spark: bool = Field(default=False, description="refuse to plan in-process while Spark is away")

    @model_validator(mode="after")
    def _can_plan(self) -> "PlannerSection":
        if self.require_spark and not self.uses_spark:
            raise ValueError("require_spark is set, but spark_master is `off`: nothing could ever be planned")
        return self

    @property
    def uses_spark(self) -> bool:
        """Whether drain plans go to Spark at all."""
        return self.spark_master != "off"
