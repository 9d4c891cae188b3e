"""Keys that callers gave their writes

Revision ID: e1_0010
Revises: e1_0009
Create Date: 2026-11-25

Only adds: the release before this one knows no such table.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0010"
down_revision = "e1_0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_key",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_call_key_at", "call_key", ["at"])


def downgrade() -> None:
    op.drop_table("call_key")
