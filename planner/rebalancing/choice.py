"""What a person, or a spec, chooses of a rebalance: its goals, and what is left out of it."""

from dataclasses import dataclass

from planner.balance.goals import DEFAULT_GOALS, Goal, Goals


@dataclass(frozen=True, slots=True)
class BalanceChoice:
    """`goals`: names, the first weighs most, each with its default tolerance; none: all. Topics (full names) stay where
    they are and count; brokers (ids) receive nothing and may give."""

    goals: tuple[str, ...] = ()
    exclude_topics: tuple[str, ...] = ()
    exclude_brokers: tuple[int, ...] = ()

    def aims(self) -> Goals:
        """The goals with their tolerances, but for `broker-sets`, which has none. Raises ValueError for one there is
        not, or one named twice."""
        if not self.goals:
            return DEFAULT_GOALS
        usual = {str(aim.goal): aim for aim in DEFAULT_GOALS}
        unknown = [name for name in self.goals if name not in usual and name != Goal.BROKER_SETS]
        if unknown:
            raise ValueError(f"there is no goal {unknown[0]!r}: there is {', '.join(goal.value for goal in Goal)}")
        if len(set(self.goals)) < len(self.goals):
            raise ValueError("a goal is named twice: each goal has one tolerance and one rank")
        return tuple(usual[name] for name in self.goals if name in usual)

    @property
    def brings_home(self) -> bool:
        """Whether replicas outside of their broker set are to come back."""
        return not self.goals or Goal.BROKER_SETS in self.goals


EVERYTHING = BalanceChoice()
"""All goals, all topics, all brokers."""
