"""Terraform's lock files beside its states

Revision ID: e1_0012
Revises: e1_0011
Create Date: 2026-11-26

Only adds: the release before this one knows no such table.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0012"
down_revision = "e1_0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "terraform_providers",
        sa.Column("pins", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("chosen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("pins"),
    )


def downgrade() -> None:
    op.drop_table("terraform_providers")
