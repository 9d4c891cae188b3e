"""validate, plan, diff: what is printed where, and the exit codes scripts build on."""

import json
from pathlib import Path

import pytest

from controlplane.api.schemas import specs as spec_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import (
    START,
    World,
    no_change,
    plan_of,
    plans_of,
    problem,
    snapshot,
    spec_problem,
    step,
)

EXAMPLE = Path(__file__).parents[4] / "examples" / "orders.yaml"


def validation(*problems: spec_api.ProblemOut) -> spec_api.ValidateOut:
    ok = not any(p.severity == "error" for p in problems)
    return spec_api.ValidateOut(ok=ok, clusters=["orders"] if ok else [], problems=list(problems))


# --- validate ---------------------------------------------------------------------------------------------------


def test_validate_tells_place_code_cause_and_fix_and_exits_1(world: World) -> None:
    world.server.on("POST", "/validate", validation(spec_problem()))
    ran = world.run("validate", "-f", world.spec())
    assert ran.exit_code == exits.FAILED
    assert ran.stdout == (
        "orders.yaml:7:3: error KEDGE-SPEC-020: `sze` is not a key of a pool\n"
        "  fix: Did you mean `size`? Remove the key otherwise.\n"
    )
    assert "1 error, 0 warnings" in ran.stderr


def test_validate_lets_warnings_pass_but_tells_them(world: World) -> None:
    world.server.on("POST", "/validate", validation(spec_problem("warning")))
    ran = world.run("validate", world.spec())
    assert ran.exit_code == exits.OK
    assert "warning KEDGE-SPEC-020" in ran.stdout
    assert "1 cluster in 1 file: orders; 0 errors, 1 warning" in ran.stderr


def test_validate_offline_asks_no_server_and_accepts_the_example(world: World) -> None:
    ran = world.run("validate", "--offline", "-f", str(EXAMPLE))
    assert (ran.exit_code, world.server.requests) == (exits.OK, [])


def test_validate_takes_a_warm_pair_without_a_word(world: World) -> None:
    pair = (
        "apiVersion: kedge/v1alpha1\nkind: KafkaFailover\nmetadata: {name: both}\nspec:\n  clusters: [a, b]\n"
        "  bootstrap: {dns: both.example}\n  mode: warm\n  replication: {}\n"
    )
    ran = world.run("validate", "--offline", world.spec(pair))
    assert ran.exit_code == exits.OK
    assert "1 failover in 1 file: both; 0 errors, 0 warnings" in ran.stderr


def test_validate_offline_finds_every_problem_of_every_file_at_once(world: World) -> None:
    first = world.spec(EXAMPLE.read_text().replace("size: 3", "sze: 3"), "a.yaml")
    second = world.spec(EXAMPLE.read_text().replace("4.1.1", "9.9.9"), "b.yaml")
    ran = world.run("validate", "--offline", first, second)
    assert ran.exit_code == exits.FAILED
    assert f"{first}:" in ran.stdout
    assert f"{second}:" in ran.stdout
    assert "did you mean `size`?" in ran.stdout.lower()


def test_validate_offline_places_bytes_that_are_no_text(world: World) -> None:
    path = Path(world.spec())
    path.write_bytes(b"kind: x\nname: \xff\n")
    ran = world.run("validate", "--offline", str(path))
    assert ran.exit_code == exits.FAILED
    assert f"{path}:2:7: error KEDGE-SPEC-002" in ran.stdout


def test_validate_reads_standard_input(world: World) -> None:
    ran = world.run("validate", "--offline", "-f", "-", typed=EXAMPLE.read_text())
    assert ran.exit_code == exits.OK


def test_validate_writes_a_versioned_document(world: World) -> None:
    world.server.on("POST", "/validate", validation(spec_problem()))
    ran = world.run("validate", world.spec(), "-o", "json")
    assert ran.exit_code == exits.FAILED
    snapshot("validate.json", ran.stdout)


def test_validate_without_a_file_is_a_usage_error(world: World) -> None:
    assert world.run("validate").exit_code == exits.USAGE


@pytest.mark.parametrize("verb", [["validate"], ["plan"], ["diff"], ["apply", "-y"]])
def test_a_file_that_is_not_there_is_told_without_a_traceback(world: World, verb: list[str]) -> None:
    ran = world.run(*verb, "-f", "no/such.yaml")
    assert ran.exit_code == (exits.DIFF_FAILED if verb == ["diff"] else exits.FAILED)
    assert "where: no/such.yaml" in ran.stderr
    assert "Traceback" not in ran.output


# --- plan -------------------------------------------------------------------------------------------------------


def test_plan_shows_fields_steps_reasons_bytes_time_and_warnings_on_stdout(world: World) -> None:
    create = step("brokers-b-1", "create", how=["create", "join"], bytes=0, seconds=10.0, reason="does not exist yet")
    phases = [
        spec_api.PhaseOut(name="create 2 brokers in b, c", parallel=True, steps=[create, create]),
        spec_api.PhaseOut(name="replace 1 broker in a", parallel=False, steps=[step("brokers-a-0")]),
    ]
    changes = [
        spec_api.FieldChangeOut(path="spec.pools[1].size", old=3, new=5, field_class="behavioural"),
        spec_api.FieldChangeOut(path="spec.bootstrap.dns", old=None, new="kafka.example", field_class="behavioural"),
        spec_api.FieldChangeOut(path="spec.rollout.pause", old=True, new=None, field_class="dynamic"),
    ]
    world.server.plans(plans_of(plan_of(phases=phases, changes=changes, warnings=["no address survives"])))
    ran = world.run("plan", "-f", world.spec())
    assert ran.exit_code == exits.OK
    snapshot("plan.txt", ran.stdout)


def test_a_changed_setting_says_its_own_effect_instead_of_its_class(world: World) -> None:
    change = spec_api.FieldChangeOut(
        path="spec.kafka.config[num.io.threads]",
        old="8",
        new="16",
        field_class="dynamic",
        effect="set live on every broker, in one step",
    )
    world.server.plans(plans_of(plan_of(phases=[], changes=[change])))
    ran = world.run("plan", "-f", world.spec())
    line = "    ~ spec.kafka.config[num.io.threads]: 8 -> 16   (dynamic: set live on every broker, in one step)"
    assert line in ran.stdout.splitlines()


def test_plan_writes_a_versioned_document(world: World) -> None:
    world.server.plans(plans_of(plan_of()))
    ran = world.run("plan", "-f", world.spec(), "--json")
    snapshot("plan.json", ran.stdout)


@pytest.mark.parametrize(
    ("plans", "plain", "detailed"),
    [([no_change()], 0, 0), ([plan_of()], 0, 2), ([no_change("a"), plan_of("b")], 0, 2)],
)
def test_only_detailed_exitcode_tells_changes_by_2(
    world: World, plans: list[spec_api.PlanOut], plain: int, detailed: int
) -> None:
    world.server.plans(plans_of(*plans))
    assert world.run("plan", "-f", world.spec()).exit_code == plain
    assert world.run("plan", "-f", world.spec(), "--detailed-exitcode").exit_code == detailed


def test_a_refused_plan_exits_1_also_with_detailed_exitcode_and_tells_its_problems(world: World) -> None:
    world.server.plans(plans_of(problems=[spec_problem()]))
    ran = world.run("plan", "-f", world.spec(), "--detailed-exitcode")
    assert (ran.exit_code, ran.stdout) == (exits.FAILED, "")
    assert "orders.yaml:7:3: error KEDGE-SPEC-020" in ran.stderr
    assert "the last good spec stays in force" in ran.stderr


def test_a_usage_error_is_never_taken_for_changes(world: World) -> None:
    assert world.run("plan", "--detailed-exitcode").exit_code == exits.USAGE
    assert world.run("plan", "-f", "x", "--nonsense").exit_code == exits.USAGE


def test_a_saved_plan_holds_spec_and_digest_and_is_private(world: World) -> None:
    world.server.plans(plans_of(plan_of()))
    spec, out = world.spec("kind: KafkaCluster # ü\n"), world.home / "orders.plan"
    ran = world.run("plan", "-f", spec, "-o", str(out))
    saved = json.loads(out.read_text())
    assert ran.exit_code == exits.OK
    assert (saved["kind"], saved["spec"], saved["digest"]) == ("SavedPlan", "kind: KafkaCluster # ü\n", "aaa-bbb-ccc")
    assert saved["saved_at"] == START.isoformat().replace("+00:00", "Z")
    assert out.stat().st_mode & 0o077 == 0
    assert f"kedge apply {out}" in ran.stderr


def test_a_plan_that_cannot_be_saved_is_told(world: World) -> None:
    world.server.plans(plans_of(plan_of()))
    ran = world.run("plan", "-f", world.spec(), "-o", str(world.home / "no" / "dir" / "x.plan"))
    assert ran.exit_code == exits.FAILED
    assert "cannot save the plan" in ran.stderr


# --- diff -------------------------------------------------------------------------------------------------------


def test_diff_exits_0_when_the_file_is_what_is_declared_even_while_it_rolls(world: World) -> None:
    world.server.plans(plans_of(plan_of(changes=[])))
    ran = world.run("diff", "-f", world.spec())
    assert (ran.exit_code, ran.stdout) == (exits.OK, "")


def test_diff_exits_1_and_shows_the_fields_when_it_differs(world: World) -> None:
    world.server.plans(plans_of(plan_of()))
    ran = world.run("diff", "-f", world.spec())
    assert ran.exit_code == exits.DIFFERS
    assert "~ spec.kafka.version: 4.1.1 -> 4.2.0" in ran.stdout


def test_diff_of_a_cluster_that_is_not_declared_differs(world: World) -> None:
    world.server.plans(plans_of(plan_of(exists=False, changes=[])))
    ran = world.run("diff", "-f", world.spec())
    assert ran.exit_code == exits.DIFFERS
    assert "not declared yet" in ran.stdout


@pytest.mark.parametrize("answer", [plans_of(problems=[spec_problem()]), problem(500, "internal", "an error")])
def test_diff_exits_2_when_it_could_not_be_told(world: World, answer: spec_api.PlansOut) -> None:
    world.server.plans(answer)
    assert world.run("diff", "-f", world.spec()).exit_code == exits.DIFF_FAILED


def test_of_several_clusters_an_error_beats_changes_beats_none(world: World) -> None:
    world.server.plans(plans_of(no_change("a"), plan_of("b")))
    ran = world.run("diff", "-f", world.spec(), "-o", "json")
    assert ran.exit_code == exits.DIFFERS
    snapshot("diff.json", ran.stdout)


def test_a_file_of_topics_alone_is_counted_by_its_topics(world: World, tmp_path: Path) -> None:
    file = tmp_path / "topic.yaml"
    file.write_text(
        "apiVersion: kedge/v1alpha1\nkind: KafkaTopic\nmetadata: {name: __debezium-heartbeat.shop}\n"
        "spec: {cluster: orders, partitions: 1, replicas: 3}\n"
    )
    ran = world.run("validate", "--offline", str(file))
    assert ran.exit_code == 0
    assert "1 topic in 1 file: orders/__debezium-heartbeat.shop; 0 errors, 0 warnings" in ran.stderr
