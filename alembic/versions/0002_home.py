"""Which home a database belongs to

Revision ID: e1_0002
Revises: e1_0001
Create Date: 2026-11-21

Only adds: the release before this one works on without the table, and without the protection it gives.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0002"
down_revision = "e1_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "home",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("home_id", sa.String(), nullable=False),
        sa.Column("installation_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("home")
