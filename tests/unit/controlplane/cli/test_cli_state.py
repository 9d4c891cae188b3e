"""`kedge state export`: a whole state or a clear word about what is missing; from Kafka itself in tests/kafka."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import clusters as api
from controlplane.cli import exits
from controlplane.cli.amounts import rate_in, size_in
from controlplane.cli.errors import CliError
from controlplane.cli.state_export import ExportOptions, observed
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, GivenCapacity
from planner.drain.model.document import read_state
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.cli.cli_world import START, World, detail
from tests.unit.controlplane.cli.state_files import GIB, state, written

BANDWIDTH = GivenCapacity(
    FigureSource(origin=FigureOrigin.GIVEN, everyone=Capacity(ingress_bytes_per_s=1e8, egress_bytes_per_s=1e8)), {}
)
NOTHING = GivenCapacity(FigureSource(origin=FigureOrigin.GIVEN), {})


def served(world: World, content: dict[str, Any]) -> None:
    world.server.cluster(detail())
    out = api.StateOut(cluster="orders", at=START, age_s=1, document=content)
    world.server.on("GET", "/clusters/orders/state", out)


def test_the_state_of_our_cluster_goes_to_stdout_alone_and_planners_read_it(world: World) -> None:
    served(world, state(assumptions=["from the catalogue"]))
    ran = world.run("state", "export", "--cluster", "orders", "--brokers", "1", "--disk-limit", "0.8")
    assert ran.exit_code == exits.OK, ran.stderr
    read = read_state(ran.stdout)
    assert read.state.brokers.must_empty.tolist() == [True, False, False, False]
    volumes = "what the volumes of 4 of 4 brokers do is not known: taken to keep up with the network"
    assert (read.state.disk_limit, read.assumptions) == (0.8, ("from the catalogue", volumes))
    assert "4 brokers, 8 partitions" in ran.stderr
    assert "assumed: from the catalogue" in ran.stderr


def test_a_file_has_one_partition_a_line(world: World) -> None:
    served(world, state())
    target = world.home / "orders.json"
    ran = world.run("state", "export", "--cluster", "orders", "--output", str(target))
    assert (ran.exit_code, ran.stdout) == (exits.OK, "")
    assert sum('"topic": "orders"' in line for line in target.read_text().splitlines()) == 8
    assert json.loads(target.read_text())["version"] == 1


def gap() -> dict[str, Any]:
    content = state()
    for name in ("ingress_bytes_per_s", "egress_bytes_per_s"):
        del content["brokers"][1][name]
    return content


def test_what_the_server_does_not_know_is_named_and_how_to_give_it(world: World) -> None:
    served(world, gap())
    ran = world.run("state", "export", "--cluster", "orders")
    assert (ran.exit_code, ran.stdout) == (exits.FAILED, "")
    assert "nobody knows ingress_bytes_per_s of broker 2; egress_bytes_per_s of broker 2" in ran.stderr
    assert "--bandwidth 200MB/s" in ran.stderr


def test_what_people_say_fills_the_gaps_and_is_an_assumption(world: World) -> None:
    served(world, gap())
    ran = world.run("state", "export", "--cluster", "orders", "--bandwidth", "80MB/s", "--flow", "50MB/s")
    content = json.loads(ran.stdout)
    assert content["brokers"][1]["ingress_bytes_per_s"] == 80e6
    assert content["brokers"][0]["ingress_bytes_per_s"] == 100 * 2**20
    assert content["flow_bytes_per_s"] == 50e6
    told = "ingress_bytes_per_s and egress_bytes_per_s of broker 2: one figure for all, as given (--bandwidth)"
    assert content["assumptions"] == [told]


def test_a_capacity_file_gives_them_by_broker(world: World) -> None:
    served(world, gap())
    figures = {"2": {"ingress_bytes_per_s": 1e8, "egress_bytes_per_s": 2e8}}
    file = written(world.home, {"version": 1, "brokers": figures}, "capacity.json")
    ran = world.run("state", "export", "--cluster", "orders", "--capacity", file)
    assert json.loads(ran.stdout)["brokers"][1]["egress_bytes_per_s"] == 2e8
    assert json.loads(ran.stdout)["assumptions"] == []


def test_a_bad_capacity_file_is_told_with_the_place(world: World) -> None:
    served(world, gap())
    file = written(world.home, {"version": 1, "brokers": {"2": {"disk_bytes": 0}}}, "capacity.json")
    ran = world.run("state", "export", "--cluster", "orders", "--capacity", file)
    assert ran.exit_code == exits.FAILED
    assert "brokers.2.disk_bytes" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name one cluster"),
        (["--bootstrap", "h:1", "--cluster", "orders"], "name one cluster"),
        (["--bootstrap", "h"], "`h` is not an address of a broker"),
        (["--bootstrap", "h:9092", "--bandwidth", "fast"], "`fast` is not an amount above 0"),
        (["--bootstrap", "h:9092", "--bandwidth", "0"], "`0` is not an amount above 0"),
        (["--cluster", "orders", "--brokers", "9"], "there is no broker 9"),
    ],
)
def test_a_command_line_that_makes_no_sense_has_its_own_exit_code(
    world: World, arguments: list[str], words: str
) -> None:
    served(world, state())
    ran = world.run("state", "export", *arguments)
    assert (ran.exit_code, ran.stdout) == (exits.USAGE, "")
    assert words in ran.stderr


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("200MB/s", 200e6), ("1Gbit/s", 125e6), ("1Gbps", 1e9), ("64MiB", 64 * 2**20), ("1.5e8", 1.5e8), ("1gb/s", 1e9)],
)
def test_rates_as_people_write_them(text: str, bytes_per_s: float) -> None:
    assert rate_in(text, option="--bandwidth") == bytes_per_s


def test_sizes_as_people_write_them() -> None:
    assert size_in("2TiB", option="--disk") == 2 * 2**40


# --- what was seen ----------------------------------------------------------------------------------------------


def test_figures_of_the_file_beat_what_brokers_tell() -> None:
    given = GivenCapacity(
        FigureSource(
            origin=FigureOrigin.GIVEN,
            by_broker={1000: Capacity(disk_bytes=7 * GIB)},
            everyone=Capacity(ingress_bytes_per_s=1e8, egress_bytes_per_s=1e8),
        ),
        {},
    )
    seen = a_snapshot(a_partition(size_bytes=1000))
    brokers = observed(seen, given, ExportOptions(bootstrap="h:1"))["brokers"]
    assert [b["disk_bytes"] for b in brokers] == [7 * GIB, 10**9 + 1000, 10**9 + 1000]


def test_a_cluster_whose_bandwidth_nobody_gave_is_incomplete() -> None:
    with pytest.raises(CliError) as refused:
        observed(a_snapshot(brokers=[1000]), NOTHING, ExportOptions(bootstrap="h:1"))
    assert refused.value.why == "nobody knows ingress_bytes_per_s of broker 1000; egress_bytes_per_s of broker 1000"


def test_a_broker_without_a_rack_among_others_with_one_is_told_with_the_way_out() -> None:
    seen = a_snapshot(brokers=[1000, 1001])
    lacking = replace(seen, brokers={**seen.brokers, 1001: replace(seen.brokers[1001], rack="")})
    with pytest.raises(CliError, match="cannot be complete") as refused:
        observed(lacking, BANDWIDTH, ExportOptions(bootstrap="h:1"))
    assert "brokers 1001 have no rack" in refused.value.why
    assert (
        observed(lacking, replace(BANDWIDTH, racks={1001: "b"}), ExportOptions(bootstrap="h:1"))["brokers"][1]["rack"]
        == "b"
    )


def test_an_unwritable_target_is_told(world: World, tmp_path: Path) -> None:
    served(world, state())
    ran = world.run("state", "export", "--cluster", "orders", "--output", str(tmp_path / "no" / "such" / "file.json"))
    assert (ran.exit_code, "cannot write the file" in ran.stderr) == (exits.FAILED, True)
