"""Every command has one decider, of one signature."""

import ast
import inspect

import pytest

from controlplane.cluster import commands, standby_commands, user_commands
from controlplane.cluster.commands import Command
from controlplane.commands import handler
from controlplane.commands.deciders import table
from controlplane.commands.deciders.table import DECIDERS


def _commands() -> set[type[Command]]:
    """Those that are asked for: a class that others are made of is none."""
    stated = [*vars(commands).values(), *vars(user_commands).values(), *vars(standby_commands).values()]
    there = {kind for kind in stated if isinstance(kind, type) and issubclass(kind, Command)}
    return {kind for kind in there if not any(kind in other.__bases__ for other in there)}


def test_every_command_has_a_decider_and_every_decider_a_command() -> None:
    assert {kind.__name__ for kind in DECIDERS} == {kind.__name__ for kind in _commands()}


def test_no_function_decides_two_commands() -> None:
    functions = [decider.decide for decider in DECIDERS.values()]
    assert len(functions) == len(set(functions))


def test_a_command_that_stands_twice_is_refused() -> None:
    rows = list(DECIDERS.items())
    with pytest.raises(ValueError, match=f"{rows[0][0].__name__} is decided twice"):
        table._once_each([*rows, rows[0]])


@pytest.mark.parametrize("command", DECIDERS, ids=lambda kind: kind.__name__)
def test_a_decider_takes_the_view_its_own_command_and_what_the_handler_looks_up(command: type[Command]) -> None:
    view, asked, known = inspect.signature(DECIDERS[command].decide).parameters.values()
    assert (view.annotation.__name__, asked.annotation, known.annotation.__name__) == (
        "ClusterView",
        command,
        "Lookups",
    )


def test_the_handler_names_no_command_but_those_it_treats_by_themselves() -> None:
    named = {node.id for node in ast.walk(ast.parse(inspect.getsource(handler))) if isinstance(node, ast.Name)}
    assert named & {kind.__name__ for kind in DECIDERS} == {"DeclareCluster"}
