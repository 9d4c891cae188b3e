"""Certificate authorities of clusters

Revision ID: e1_0013
Revises: e1_0012
Create Date: 2026-11-29

Only adds: the release before this one knows no such table.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0013"
down_revision = "e1_0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cluster_authority",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("certificate", sa.String(), nullable=False),
        sa.Column("sealed_key", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cluster_uid", "kind"),
    )


def downgrade() -> None:
    op.drop_table("cluster_authority")
