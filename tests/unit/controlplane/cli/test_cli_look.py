"""get, describe, endpoints: tables for people, versioned documents for scripts, and watching."""

import json

import httpx
import pytest

from controlplane.api.schemas import clusters as api
from controlplane.api.schemas.past import PastOut
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import (
    START,
    World,
    condition,
    detail,
    event,
    instance,
    rolling,
    snapshot,
)


def short(full: api.ClusterDetailOut) -> api.ClusterOut:
    return api.ClusterOut.model_validate(full.model_dump(include=set(api.ClusterOut.model_fields)))


# --- get --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [[], ["clusters"]])
def test_get_lists_the_clusters_one_line_each(world: World, what: list[str]) -> None:
    world.server.on("GET", "/clusters", [short(detail("audit")), short(rolling("orders"))])
    ran = world.run("get", *what)
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[0][:6] == ["NAME", "STATUS", "GENERATION", "KAFKA", "BROKERS", "CONTROLLERS"]
    assert lines[1][:6] == ["audit", "Converged", "2", "4.1.1", "3/3", "3/3"]
    assert lines[2][:4] == ["orders", "Working", "1", "->"]
    assert lines[2][-4:] == ["5,", "12", "moves", "left"]


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name"])
@pytest.mark.parametrize("what", ["clusters", "orders"])
def test_every_form_of_a_list_and_of_one_cluster(world: World, what: str, output: str) -> None:
    world.server.cluster(rolling())
    ran = world.run("get", what, "-o", output)
    assert ran.exit_code == exits.OK
    snapshot(f"get-{what}.{output}", "\n".join(line.rstrip() for line in ran.stdout.splitlines()) + "\n")


def test_an_empty_list_is_empty_on_stdout_and_says_what_to_do_on_stderr(world: World) -> None:
    world.server.on("GET", "/clusters", [])
    ran = world.run("get")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "")
    assert "kedge apply -f FILE" in ran.stderr
    assert json.loads(world.run("get", "-o", "json").stdout)["items"] == []


def test_a_pipe_gets_no_colour_and_a_terminal_does(world: World) -> None:
    world.environ["TERM"] = "xterm"
    world.server.cluster(detail())
    assert "\x1b" not in world.run("get").stdout
    assert "\x1b[32mConverged" in world.terminal("get").stdout


@pytest.mark.parametrize("arguments", [["--no-color", "get"], ["get", "--no-color"], ["get", "orders", "--no-color"]])
def test_the_flag_beats_force_color_wherever_it_stands(world: World, arguments: list[str]) -> None:
    world.environ |= {"TERM": "xterm", "FORCE_COLOR": "1"}
    world.server.cluster(detail())
    assert "\x1b" in world.run("get").stdout
    assert "\x1b" not in world.terminal(*arguments).stdout


def test_machine_output_is_never_coloured(world: World) -> None:
    world.environ["FORCE_COLOR"] = "1"
    world.server.cluster(detail())
    assert json.loads(world.terminal("get", "orders", "-o", "json").stdout)["name"] == "orders"


def test_text_of_others_cannot_steer_the_terminal(world: World) -> None:
    world.server.cluster(rolling(sentence="topic \x1b]0;owned\x07 [red]x[/red]"))
    told = world.terminal("get").stdout
    assert "\x1b]0;" not in told
    assert "[red]x[/red]" in told


# --- watch ------------------------------------------------------------------------------------------------------


def test_watch_writes_one_json_line_a_change_and_nothing_for_what_always_changes(world: World) -> None:
    older = detail(sentence_at=START.replace(hour=9), metadata_age_s=99.0)
    world.server.cluster(detail(), older, rolling(stream_version=18), rolling(stream_version=18))
    world.server.on("GET", "/clusters/orders/events", api.EventsOut(events=[], head=0))
    world.time.interrupt_after = 5
    ran = world.run("get", "orders", "-w", "-o", "json")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.exit_code == exits.INTERRUPTED
    assert [(line["kind"], line["status"]) for line in lines] == [("Cluster", "Converged"), ("Cluster", "Working")]


def test_a_watched_cluster_carries_the_position_to_go_on_from_and_skips_nothing(world: World) -> None:
    world.server.cluster(detail(stream_version=4))
    # The event of version 5 was recorded after the cluster was looked at: it must not be skipped.
    pages = [event(13), event(14), event(15)]
    world.server.on("GET", "/clusters/orders/events", api.EventsOut(events=pages, head=20))
    world.time.interrupt_after = 1
    ran = world.run("get", "orders", "-w", "-o", "json")
    assert json.loads(ran.stdout)["position"] == 14


def test_the_position_goes_on_from_the_last_one(world: World) -> None:
    world.server.cluster(detail(stream_version=4), rolling(stream_version=5))
    world.server.on(
        "GET",
        "/clusters/orders/events",
        api.EventsOut(events=[event(13), event(14), event(15)], head=20),
        api.EventsOut(events=[event(15)], head=20),
        api.EventsOut(events=[], head=20),
    )
    world.time.interrupt_after = 2
    ran = world.run("get", "orders", "-w", "-o", "json")
    assert [json.loads(line)["position"] for line in ran.stdout.splitlines()] == [14, 15]
    asked = [r.url.params["after"] for r in world.server.requests if r.url.path.endswith("/events")]
    assert asked == ["0", "14", "15"]


def test_watching_a_table_off_a_terminal_writes_headers_once(world: World) -> None:
    world.server.on("GET", "/clusters", [short(detail())], [short(rolling())])
    world.time.interrupt_after = 4
    ran = world.run("get", "-w")
    assert (ran.stdout.count("NAME"), ran.stdout.count("orders")) == (1, 2)


def test_watching_on_a_terminal_redraws(world: World) -> None:
    world.environ |= {"TERM": "xterm", "COLUMNS": "120"}
    world.server.on("GET", "/clusters", [short(detail())], [short(rolling())])
    world.time.interrupt_after = 4
    ran = world.terminal("get", "-w")
    assert ran.exit_code == exits.INTERRUPTED
    assert "\x1b[2K" in ran.stdout


def test_watching_outlives_a_server_that_restarts(world: World) -> None:
    gone = httpx.ConnectError("Connection refused")
    world.server.on("GET", "/clusters", [short(detail())], gone, gone, [short(rolling())])
    world.time.interrupt_after = 4
    ran = world.run("get", "-w", "-o", "name")
    assert ran.stdout == "orders\norders\n"
    assert ran.stderr.count("waiting for it to come back") == 1


# --- describe ---------------------------------------------------------------------------------------------------


def test_describe_tells_conditions_since_when_and_what_to_type_next(world: World) -> None:
    said = condition("Blocked", True, "RunFailed", "Terraform failed 5 times. Next: kedge resume orders")
    lost = instance("brokers-c-0.g1", lost=True, reported_state="", report_age_s=None)
    stuck = rolling(
        status="Blocked",
        conditions=[condition("Converged", False), said],
        instances=[*rolling().instances[:3], lost],
        under_replicated=3,
    )
    world.server.cluster(stuck)
    ran = world.run("describe", "orders")
    assert ran.exit_code == exits.OK
    snapshot("describe.txt", "\n".join(line.rstrip() for line in ran.stdout.splitlines()) + "\n")


@pytest.mark.parametrize(
    ("seen", "command"),
    [
        (rolling(), "kedge wait orders --for=converged"),
        (detail(status="Deleting"), "kedge wait orders --for=deleted"),
        (detail(status="Paused", conditions=[condition("Paused", True, "Paused", "lunch")]), "kedge resume orders"),
    ],
)
def test_describe_always_ends_with_the_next_command(world: World, seen: api.ClusterDetailOut, command: str) -> None:
    world.server.cluster(seen)
    assert world.run("describe", "orders").stdout.rstrip().endswith(command)


def test_describe_of_a_converged_cluster_has_nothing_to_do(world: World) -> None:
    world.server.cluster(detail())
    told = world.run("describe", "orders").stdout
    assert "Next" not in [line.strip() for line in told.splitlines()]
    assert "Pending" not in told


def test_describe_says_what_is_not_known(world: World) -> None:
    unknown = detail(partitions=None, under_min_isr=None, under_replicated=None, metadata_age_s=None, instances=[])
    world.server.cluster(unknown)
    told = world.run("describe", "orders").stdout
    assert "unknown: no metadata was read yet" in told
    assert "none yet" in told


def test_describe_as_a_document_is_the_cluster(world: World) -> None:
    world.server.cluster(rolling())
    assert world.run("describe", "orders", "-o", "json").stdout == world.run("get", "orders", "-o", "json").stdout


# --- endpoints --------------------------------------------------------------------------------------------------


def endpoints_of(*bootstrap: str) -> api.EndpointsOut:
    published = START if bootstrap else None
    return api.EndpointsOut(
        cluster="orders", bootstrap=list(bootstrap), dns=None, security="plaintext", published_at=published
    )


def test_endpoints_prints_bootstrap_servers_and_nothing_else_on_stdout(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", endpoints_of("kafka.example:9092", "127.77.0.11:9092"))
    ran = world.run("endpoints", "orders")
    assert ran.stdout == "kafka.example:9092,127.77.0.11:9092\n"
    assert "security: plaintext; published 2026-01-02 03:04:05Z" in ran.stderr


def test_endpoints_of_a_cluster_without_brokers_is_empty(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", endpoints_of())
    ran = world.run("endpoints", "orders")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "")
    assert "nothing is published yet" in ran.stderr


def test_endpoints_writes_a_versioned_document(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", endpoints_of("127.77.0.11:9092"))
    snapshot("endpoints.yaml", world.run("endpoints", "orders", "-o", "yaml").stdout)


def test_describe_at_a_position_says_that_it_is_the_past_and_proposes_nothing(world: World) -> None:
    past = PastOut(position=40, at=START, placement="not kept: it is an observation")
    world.server.on("GET", "/clusters/orders", rolling("orders").model_copy(update={"past": past}))
    ran = world.run("describe", "orders", "--at", "40")
    assert world.server.requests[-1].url.params["at"] == "40"
    assert "as it was at position 40 of the log" in ran.stderr
    assert "Next" not in ran.stdout


def test_endpoints_tells_the_ca_alone_where_it_is_asked_for(world: World) -> None:
    found = endpoints_of("127.77.0.11:9094").model_copy(
        update={"security": "tls", "ca": "-----BEGIN CERTIFICATE-----\n"}
    )
    world.server.on("GET", "/clusters/orders/endpoints", found)
    ran = world.run("endpoints", "orders", "--ca")
    assert ran.stdout == "-----BEGIN CERTIFICATE-----\n"


def test_endpoints_of_a_cluster_without_tls_has_no_ca_to_tell(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", endpoints_of("127.77.0.11:9092"))
    ran = world.run("endpoints", "orders", "--ca")
    assert ran.exit_code == 1
    assert ran.stdout == ""
    assert "no node of orders speaks TLS" in ran.stderr


SCRAM = api.ListenerOut(
    name="SCRAM",
    port=9095,
    security="tls",
    authentication="scram-sha-512",
    protocol="SASL_SSL",
    bootstrap=["127.77.0.11:9095"],
    missing=2,
    examples={"java": "security.protocol=SASL_SSL", "kcat": "kcat -L"},
)
PLAIN = api.ListenerOut(name="PLAINTEXT", port=9092, security="plaintext", authentication="none", protocol="PLAINTEXT")


def of_two() -> api.EndpointsOut:
    return endpoints_of("127.77.0.11:9092").model_copy(update={"listeners": [PLAIN, SCRAM]})


def test_endpoints_of_a_listener_are_its_own(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", of_two())
    ran = world.run("endpoints", "orders", "--listener", "scram")
    assert ran.stdout == "127.77.0.11:9095\n"
    assert "listener SCRAM: port 9095, SASL_SSL, authentication scram-sha-512; 2 brokers without it yet" in ran.stderr


def test_endpoints_print_an_example_configuration_and_nothing_else(world: World) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", of_two())
    ran = world.run("endpoints", "orders", "--listener", "SCRAM", "--config", "java")
    assert (ran.stdout, ran.stderr) == ("security.protocol=SASL_SSL\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listener", "TLS"), "its listeners are PLAINTEXT, SCRAM"),
        (("--listener", "SCRAM", "--config", "pascal"), "there are some for java, kcat"),
        (("--config", "java"), "no broker has it yet"),
    ],
)
def test_endpoints_say_what_there_is_instead(world: World, arguments: tuple[str, ...], said: str) -> None:
    world.server.on("GET", "/clusters/orders/endpoints", of_two())
    ran = world.run("endpoints", "orders", *arguments)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert said in ran.stderr
