"""The second check, in Spark's own columns: nothing of the planner's code or arrays is trusted here."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.schemas import OUTCOMES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


Rules = Mapping[str, "Callable[[Column], Column]"]
"""What a broken rule is called -> whether a move (MOVE) breaks it, beside the columns of its request (REQUESTS)."""


def validated(answers: "DataFrame", requests: "DataFrame") -> "DataFrame":
    """ANSWERS and REQUESTS in, OUTCOMES out: each answer with the rules of its kind that its moves break."""
    asked = requests.select("plan_key", "kind", "givers", "targets", "racks")
    judged = answers.join(F.broadcast(asked), "plan_key")
    broken = [
        F.when((F.col("kind") == kind) & F.exists("moves", rule), F.lit(name))
        for kind, rules in RULES.items()
        for name, rule in rules.items()
    ]
    names = F.transform("moves", lambda m: F.concat_ws("/", m["topic"], m["partition"].cast("string")))
    broken.append(F.when(F.size(F.array_distinct(names)) < F.size("moves"), F.lit("a partition moved twice")))
    judged = judged.withColumn("violations", F.array_compact(F.array(*broken)))
    return judged.select(*OUTCOMES.names)


def _length_differs(move: "Column") -> "Column":
    return F.size(move["before"]) != F.size(move["after"])


def _broker_twice(move: "Column") -> "Column":
    return F.size(F.array_distinct(move["after"])) < F.size(move["after"])


def _stays_on_outgoing(move: "Column") -> "Column":
    return F.arrays_overlap(move["after"], F.col("givers"))


def _taken_from_others(move: "Column") -> "Column":
    removed = F.array_except(move["before"], move["after"])
    return F.size(F.array_except(removed, F.col("givers"))) > 0


def _target_not_allowed(move: "Column") -> "Column":
    added = F.array_except(move["after"], move["before"])
    return F.size(F.array_except(added, F.col("targets"))) > 0


def _moves_nothing(move: "Column") -> "Column":
    return move["before"] == move["after"]


def _fewer_racks(move: "Column") -> "Column":
    return _racks(move["after"]) < _racks(move["before"])


def _fewer_racks_than_stay(move: "Column") -> "Column":
    """Racks that lose their last broker cannot be kept."""
    staying = F.filter(F.map_keys("racks"), lambda b: ~F.array_contains("givers", b))
    return _racks(move["after"]) < F.least(_racks(move["before"]), _racks(staying))


def _racks(brokers: "Column") -> "Column":
    return F.size(F.array_distinct(F.transform(brokers, lambda b: F.col("racks")[b])))


_SHAPE: Rules = {
    "replica count changes": _length_differs,
    "a broker twice in a replica list": _broker_twice,
    "a broker that is not a target receives": _target_not_allowed,
}

DRAIN_RULES: Rules = {
    **_SHAPE,
    "a replica stays on an outgoing broker": _stays_on_outgoing,
    "a replica that is to stay moves": _taken_from_others,
    "fewer racks than before": _fewer_racks_than_stay,
}

REBALANCE_RULES: Rules = {
    **_SHAPE,
    "a broker that is to be left alone gives": _taken_from_others,
    "a move moves nothing": _moves_nothing,
    "fewer racks than before": _fewer_racks,
}

RULES: Mapping[str, Rules] = {"drain": DRAIN_RULES, "rebalance": REBALANCE_RULES}
"""By the kind of the request (planner.kinds)."""
