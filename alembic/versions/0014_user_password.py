"""Passwords of users that are on their way

Revision ID: e1_0014
Revises: e1_0013
Create Date: 2026-11-29

Only adds: the release before this one knows no such table.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0014"
down_revision = "e1_0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "user_password",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("user_name", sa.String(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cluster_uid", "number"),
    )


def downgrade() -> None:
    op.drop_table("user_password")
