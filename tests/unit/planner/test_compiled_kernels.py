"""`make setup` compiles every kernel, for just the types that plans call it with: none is compiled in a server."""

import pkgutil
import sys
from collections.abc import Mapping

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import planner
from planner import compile as set_up
from planner.drain.solve import solve
from planner.rebalancing.ask import answered
from tests.unit.planner.drain.drain_cases import case_of
from tests.unit.planner.rebalancing.rebalance_cases import drawn, question


def _compiled() -> Mapping[str, tuple[object, ...]]:
    """The types each kernel that is kept on disk was compiled for, or loaded with."""
    modules = [
        sys.modules[m.name] for m in pkgutil.walk_packages(planner.__path__, "planner.") if m.name in sys.modules
    ]
    return {
        f"{module.__name__}.{name}": tuple(kernel.signatures)
        for module in modules
        for name, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher)
        and kernel.__module__ == module.__name__
        and not isinstance(kernel._cache, NullCache)
    }


def test_what_is_compiled_at_set_up_is_all_that_plans_call() -> None:
    set_up.main()
    at_set_up = _compiled()
    assert len(at_set_up) > 15
    assert [name for name, types in at_set_up.items() if not types] == []
    for seed in range(40):
        solve(case_of(seed)[1])
        answered(drawn(seed))
    answered(question())
    assert _compiled() == at_set_up
