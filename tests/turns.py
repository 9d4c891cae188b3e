"""A plugin of pytest (`-p tests.turns --turn 2/3`): every third of the files collected, from the second on.

So a long stage takes turns where a machine is too slow for all of it: see `tests/stages.py`.
"""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Turn:
    """One of so many, from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def words(self) -> tuple[str, ...]:
        """What has pytest take this turn."""
        return ("-p", "tests.turns", OPTION, str(self))

    @classmethod
    def read(cls, text: str) -> "Turn":
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise pytest.UsageError(f"{OPTION} {text}: say which of how many, as 2/3")
        return cls(int(number), int(of))

    def files(self, files: list[str]) -> set[str]:
        """Those whose turn it is; each is in one turn."""
        return set(sorted(set(files))[self.number - 1 :: self.of])


OPTION = "--turn"


def pytest_addoption(parser: pytest.Parser) -> None:
    # As text: workers of pytest-xdist get no objects of ours.
    parser.addoption(OPTION, help="which files run: every Nth one, as 2/3")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After marks have chosen: a file all of whose tests are soak is in no turn."""
    told = config.getoption(OPTION)
    if told is None:
        return
    chosen = Turn.read(told).files([_file(item) for item in items])
    config.hook.pytest_deselected(items=[item for item in items if _file(item) not in chosen])
    items[:] = [item for item in items if _file(item) in chosen]


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
