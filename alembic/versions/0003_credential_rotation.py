"""Rotation of agents' credentials: the next hash, the one before, and when

Revision ID: e1_0003
Revises: e1_0002
Create Date: 2026-11-22

Only adds: the release before this one goes on with the hash in force. An agent that had just been told its next one
shows it the one before again.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0003"
down_revision = "e1_0002"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    for column in (
        sa.Column("next_sha256", sa.String(), nullable=True),
        sa.Column("earlier_sha256", sa.String(), nullable=True),
        sa.Column("rotated_at", TIME, nullable=True),
        sa.Column("outdated_shown_at", TIME, nullable=True),
    ):
        op.add_column("agent_credential", column)


def downgrade() -> None:
    for name in ("outdated_shown_at", "rotated_at", "earlier_sha256", "next_sha256"):
        op.drop_column("agent_credential", name)
