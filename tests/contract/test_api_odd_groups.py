"""Groups of odd names through a real HTTP server and the real command line: what a client does to a path counts."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner, Result

from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings
from controlplane.runtime.listen_addresses import listening
from tests.unit.controlplane.api.portal_house import TOKEN
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders
from tests.waiting import until

ODD = (".", "..", "new\nline", "a/../b", "%2e%2e", "two words?#&")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    house = house_with_orders()
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.create_topic("clicks", partitions=1, rf=1)
    house.kafka.consumers.produce("clicks", 0, 10)
    for name in (*ODD, "billing"):
        house.kafka.consumers.commit(name, "clicks", 0, 7)
    door = listening("127.0.0.1", 0)
    host = f"127.0.0.1:{door.getsockname()[1]}"
    object.__setattr__(house.services.access, "hosts", frozenset({host}))
    server = uvicorn.Server(uvicorn.Config(house.app, log_config=None, proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    until(lambda: server.started, "the server starts", timeout_s=20)
    yield f"http://{host}"
    server.should_exit = True
    thread.join(20)


def kedge(address: str, tmp_path: Path, *arguments: str) -> Result:
    environ = {"KEDGE_SERVER": address, "KEDGE_TOKEN": TOKEN, "KEDGE_HOME": str(tmp_path)}
    return CliRunner().invoke(app, list(arguments), obj=Surroundings(environ=environ, cwd=tmp_path))


@pytest.mark.parametrize("name", ODD)
def test_case_13_a_group_of_an_odd_name_is_shown_by_the_command_line(address: str, tmp_path: Path, name: str) -> None:
    told = kedge(address, tmp_path, "group", "orders", name)
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[0] == f"orders/{name}".replace("\n", "?")
    assert "lag 3 records" in told.stdout


def test_case_13_each_group_of_the_list_is_one_line(address: str, tmp_path: Path) -> None:
    told = kedge(address, tmp_path, "groups", "orders")
    assert told.exit_code == 0, told.output
    assert len(told.stdout.splitlines()) == 1 + len(ODD) + 1
    assert sum(line.startswith("new?line ") for line in told.stdout.splitlines()) == 1


def test_a_name_that_would_lead_to_another_address_asks_nobody(address: str, tmp_path: Path) -> None:
    told = kedge(address, tmp_path, "topic", "describe", "orders", "..")
    assert told.exit_code == 64
    assert "`..` is not a name" in told.stderr
