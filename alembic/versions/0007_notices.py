"""Notices that wait to be told, and how notifiers do

Revision ID: e1_0007
Revises: e1_0006
Create Date: 2026-11-22

Only adds. The release before this one tells nobody; what waits then is told by the next release that knows the tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0007"
down_revision = "e1_0006"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "notice_outbox",
        sa.Column("notifier", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("notice", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("again_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("notifier", "position"),
    )
    op.create_table(
        "notifier_state",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("failing_since", TIME, nullable=True),
        sa.Column("told_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("notifier_state")
    op.drop_table("notice_outbox")
