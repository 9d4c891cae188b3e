"""Terraform's states and who holds them; what several homes on one database have to agree on

Revision ID: e1_0004
Revises: e1_0003
Create Date: 2026-11-22

Only adds. The release before this one keeps its states in files, and works on as long as they are there: it knows
neither the new tables nor the new columns, which may be empty.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0004"
down_revision = "e1_0003"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
NEW_IN_HOME = ("terraform_state", "keys_print", "agent_url")


def upgrade() -> None:
    for name in NEW_IN_HOME:
        op.add_column("home", sa.Column(name, sa.String(), nullable=True))
    op.create_table(
        "terraform_state",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("lineage", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("written_at", TIME, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("cluster_uid", "place", "version"),
    )
    op.create_table(
        "terraform_lock",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("hold_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("start_ticks", sa.BigInteger(), nullable=False),
        sa.Column("lease_s", sa.Float(), nullable=False),
        sa.Column("taken_at", TIME, nullable=False),
        sa.Column("renewed_at", TIME, nullable=False),
        sa.Column("lock_info", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("cluster_uid", "place"),
    )


def downgrade() -> None:
    op.drop_table("terraform_lock")
    op.drop_table("terraform_state")
    with op.batch_alter_table("home") as home:
        for name in NEW_IN_HOME:
            home.drop_column(name)
