"""`kedge db`: tables brought up to date, and the SQL by which their owner gives roles their rights."""

from pathlib import Path

from controlplane.server.database_roles import RIGHTS, SECRETS
from tests.unit.controlplane.cli.cli_world import World


def test_tables_are_made_once_and_then_are_there(world: World, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/kedge.db"
    first = world.run("db", "migrate", "--database-url", url)
    assert (first.exit_code, "came from nothing" in first.stdout) == (0, True)
    assert "it was there already" in world.run("db", "migrate", "--database-url", url).stdout


def test_a_database_that_does_not_answer_is_told(world: World, tmp_path: Path) -> None:
    result = world.run("db", "migrate", "--database-url", f"sqlite:///{tmp_path}/nowhere/kedge.db")
    assert result.exit_code == 1
    assert "nothing was migrated" in result.stderr


def test_the_grants_name_every_table_and_are_printed_unbroken(world: World) -> None:
    lines = world.run("db", "grants", "--app", 'a"b', "--reader", "eyes").stdout.splitlines()
    assert all(line.endswith(";") for line in lines)
    given = [line for line in lines if line.startswith("GRANT") and line.endswith('TO "a""b";')]
    assert all(any(f'"public"."{table}"' in line for line in given) for table in RIGHTS)
    (adding,) = [line for line in given if line.startswith("GRANT SELECT, INSERT ON")]
    assert adding == 'GRANT SELECT, INSERT ON "public"."audit_entry", "public"."event" TO "a""b";'
    (seen,) = [line for line in lines if line.startswith("GRANT SELECT") and line.endswith('TO "eyes";')]
    assert not [table for table in SECRETS if f'"{table}"' in seen]
