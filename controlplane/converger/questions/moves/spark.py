"""A plan that has to be Spark's, while Spark is not up: the cluster waits, and says for what."""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation


def waits_for_spark(what: str, situation: Situation) -> Decision:
    """`what` is the act whose plan is awaited. It goes on by itself once Spark is up."""
    sentence = (
        f"{what}: the plan waits for Spark, which `planner.require_spark` of the server's settings asks for: "
        f"{situation.waits_for_spark}"
    )
    return wait(WaitReason.SPARK_AWAY, sentence, next_command="kedge loop", patience_s=60)
