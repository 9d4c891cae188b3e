"""Plans of planner.balance for the command line: computed, replayed, and written in the files of drain plans."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.cli.drain_files import write_kafka_json, write_plan, write_throttles
from controlplane.cli.errors import CliError
from controlplane.cli.session import Session
from controlplane.cli.state_inputs import Input, kept_up_with, usage
from events.spec.suggestions import nearest
from planner.balance.answer import Answer, Balanced, Shortfall
from planner.balance.goals import DEFAULT_GOALS, Aim, Goal, Goals, aims_by_goal
from planner.balance.in_sets import SetTerms, rebalance_in_sets
from planner.balance.leadership import demote
from planner.balance.rebalance import add_brokers, rebalance
from planner.drain.model.plan_document import with_assumptions
from planner.drain.replay import Replay, replay

HARD = "!"


@dataclass(frozen=True, slots=True, eq=False)
class BalancePlan:
    """`balanced` is what to do, `shortfall` why it is not all that was asked for. `replay` is of `balanced`."""

    balanced: Balanced
    shortfall: Shortfall | None
    replay: Replay


@dataclass(frozen=True, slots=True)
class Files:
    """Where to write what; None = nowhere."""

    plan_file: Path | None
    kafka_json: Path | None
    throttles: Path | None

    def write(self, session: Session, given: Input, plan: BalancePlan) -> dict[str, str]:
        """What was written, by kind. Raises CliError."""
        state, schedule = given.state, plan.balanced.schedule
        files: dict[str, str] = {}
        if self.plan_file is not None:
            write_plan(self.plan_file, state, schedule, None)
            files["plan"] = str(self.plan_file)
        if self.kafka_json is not None:
            files["kafka json"] = ", ".join(map(str, write_kafka_json(self.kafka_json, state, schedule)))
        if self.throttles is not None:
            write_throttles(self.throttles, state, schedule)
            files["throttles"] = str(self.throttles)
        for kind, name in files.items():
            session.tell(f"{kind}: {name}")
        return files


def goals_in(text: str) -> Goals:
    """`racks!,disk=1.05,leaders`: the goals named, in this order; empty = the default ones. Raises CliError."""
    if not text:
        return DEFAULT_GOALS
    usual = {aim.goal: aim for aim in (_SETS, *DEFAULT_GOALS)}
    aims = tuple(_aim(part.strip(), usual) for part in text.split(",") if part.strip())
    try:
        aims_by_goal(aims)
    except ValueError as error:
        raise usage("the goals cannot be used", why=str(error)) from None
    return aims


_SETS = Aim(Goal.BROKER_SETS, 1, hard=True)
"""Stands for what a state with broker sets has instead of an aim."""


@dataclass(frozen=True, slots=True)
class BrokersChosen:
    """With `onto` only these receive; `excluded` receive nothing."""

    onto: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()


def rebalanced(
    given: Input, goals: Goals, *, excluded_topics: tuple[str, ...], brokers: BrokersChosen | None = None
) -> BalancePlan:
    """The plan within the goals, or what comes nearest. Raises CliError for a broker that cannot receive or is not
    there, and when the plan's replay breaks a rule.
    """
    given, apart = kept_up_with(given), frozenset(excluded_topics)
    onto, out = (brokers.onto, brokers.excluded) if brokers else ((), ())
    both = sorted(set(onto) & set(out))
    if both:
        raise usage(f"broker {both[0]} is to receive and is excluded", next_step="leave it out of one of the two")
    brings_home = goals == DEFAULT_GOALS or _SETS.goal in [aim.goal for aim in goals]
    goals = tuple(aim for aim in goals if aim.goal is not _SETS.goal)
    if onto:
        _refuse_unable(given, onto)
    try:
        if given.state.sets:
            terms = SetTerms(
                goals=goals, brings_home=brings_home, excluded_topics=apart, excluded_brokers=out, onto=onto
            )
            return _replayed(given, rebalance_in_sets(given.state, terms))
        if not onto:
            return _replayed(given, rebalance(given.state, goals, excluded_topics=apart, excluded_brokers=out))
    except ValueError as error:
        raise usage(str(error)) from None
    return _replayed(given, add_brokers(given.state, onto, goals, excluded_topics=apart))


def demoted(given: Input, ids: tuple[int, ...]) -> BalancePlan:
    """Leaders off these brokers. Raises CliError for a broker the state does not have."""
    try:
        return _replayed(given, demote(given.state, ids))
    except ValueError as error:
        raise usage(str(error)) from None


def _refuse_unable(given: Input, onto: Sequence[int]) -> None:
    brokers = given.state.brokers
    able = [int(b) for b in brokers.id[brokers.may_receive]]
    unable = sorted(set(onto) - set(able))
    if unable:
        known = unable[0] in brokers.id.tolist()
        why = "it is to be emptied, or dead" if known else "the state has no such broker"
        raise usage(
            f"broker {unable[0]} cannot receive", why=why, next_step=f"choose among {', '.join(map(str, able))}"
        )
    if set(able) <= set(onto):
        next_step = "name fewer, or leave --onto out"
        raise usage("every broker that may receive was chosen", why="no broker is left to send", next_step=next_step)


def _aim(text: str, usual: dict[Goal, Aim]) -> Aim:
    hard, word = text.endswith(HARD), text.removesuffix(HARD)
    name, _, tolerance = word.partition("=")
    if name not in [goal.value for goal in Goal]:
        meant = nearest(name, [goal.value for goal in Goal])
        next_step = f"did you mean `{meant}`?" if meant else f"there is {', '.join(goal.value for goal in Goal)}"
        raise usage(f"there is no goal `{name}`", next_step=next_step)
    aim = usual[Goal(name)]
    try:
        value = float(tolerance) if tolerance else aim.tolerance
    except ValueError:
        raise usage(
            f"`{tolerance}` is not a tolerance of {name}", next_step=f"as in {name}={aim.tolerance:g}"
        ) from None
    return Aim(aim.goal, value, hard=hard or aim.hard)


def _replayed(given: Input, answer: Answer) -> BalancePlan:
    shortfall = answer if isinstance(answer, Shortfall) else None
    balanced = answer.best if isinstance(answer, Shortfall) else answer
    if balanced is None:
        assert shortfall is not None
        raise CliError("there is no plan", why=shortfall.message)
    schedule = with_assumptions(balanced.schedule, given.assumptions)
    run = replay(given.state, schedule)
    if run.violations:
        why = f"it breaks a rule in its replay: {run.violations[0]}"
        raise CliError("the plan is refused", why=why, next_step="nothing was written; report it with the state file")
    return BalancePlan(replace(balanced, schedule=schedule), shortfall, run)
