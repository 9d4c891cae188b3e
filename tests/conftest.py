"""Fixtures all tests may use. Kept tiny: heavy imports happen inside, when a test asks for the real thing."""

import gc
import signal
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.skips import judged

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

# How long an example takes says how busy the machine is, and nothing of the code. Where CI is set Hypothesis tries the
# same examples each time.
settings.register_profile("kedge", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kedge")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts in the background so, and what a test starts would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives until the end: the garbage collector, which would walk it again and again while it grows
    and whenever a test has made much, leaves it alone.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skip that hides a gap fails where CI is set."""
    report = yield
    judged(report)
    return report


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[PostgresServer]":
    """A real PostgreSQL server for the whole run; fails, with what to install, where there is none."""
    from tests.postgres_server import running_postgres

    with running_postgres() as server:
        yield server
