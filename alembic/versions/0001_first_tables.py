"""The first tables: the event log, checkpoints, leases, jobs, plans, observations, agent credentials

Revision ID: e1_0001
Revises:
Create Date: 2026-11-21

Expand and contract: the release before this one must still read and write the database. Revision ids are ERA_NUMBER
(e1_0002). A migration that takes something away begins a new era, one release after nothing needs it any more.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)

SQLITE_APPEND_ONLY = """
CREATE TRIGGER event_no_{verb} BEFORE {verb} ON event
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END
"""
POSTGRESQL_APPEND_ONLY = """
CREATE FUNCTION event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the event log is append-only'; END $$;
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON event
FOR EACH STATEMENT EXECUTE FUNCTION event_is_append_only();
"""


def upgrade() -> None:
    _event_log()
    _control_plane()


def downgrade() -> None:
    for table in (
        "agent_credential",
        "latest",
        "plan_blob",
        "job",
        "lease",
        "projection_checkpoint",
        "counter",
        "event",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION event_is_append_only()")


def _event_log() -> None:
    op.create_table(
        "event",
        sa.Column(
            "position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=True),
        sa.Column("command_id", sa.String(), nullable=True),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("position"),
        sa.UniqueConstraint("event_id", name="uq_event_event_id"),
        sa.UniqueConstraint("stream", "command_id", "part", name="uq_event_stream_command"),
        sa.UniqueConstraint("stream", "version", name="uq_event_stream_version"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(SQLITE_APPEND_ONLY.format(verb=verb))
    else:
        op.execute(POSTGRESQL_APPEND_ONLY)
    counter = op.create_table(
        "counter",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.bulk_insert(counter, [{"name": "event", "position": 0}])
    op.create_table(
        "projection_checkpoint",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("build", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("halted_position", sa.BigInteger(), nullable=True),
        sa.Column("halted_reason", sa.String(), nullable=True),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", "build"),
    )


def _control_plane() -> None:
    op.create_table(
        "lease",
        sa.Column("duty", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("term_s", sa.Float(), nullable=False),
        sa.Column("renewed_at", TIME, nullable=False),
        sa.Column("acts_after", TIME, nullable=False),
        sa.Column("released", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("duty"),
    )
    op.create_table(
        "job",
        sa.Column("intent_id", sa.String(), nullable=False),
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("heartbeat_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error_class", sa.String(), nullable=True),
        sa.Column("error_message", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("intent_id"),
    )
    op.create_index("ix_job_cluster_uid", "job", ["cluster_uid"])
    op.create_index("ix_job_state", "job", ["state"])
    op.create_table(
        "plan_blob",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "latest",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("observed_at", TIME, nullable=False),
        sa.Column("boot_id", sa.String(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("past_boots", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "cluster_uid", "subject"),
    )
    op.create_index("ix_latest_cluster_uid", "latest", ["cluster_uid"])
    op.create_table(
        "agent_credential",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("credential_sha256", sa.String(), nullable=False),
        sa.Column("intent_id", sa.String(), nullable=False),
        sa.Column("enrolled_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("cluster_uid", "node", "generation"),
    )
