"""Where the partitions of each topic are, one row a topic

Revision ID: e1_0008
Revises: e1_0007
Create Date: 2026-11-23

Only adds. The release before this one knows where topics are on the server alone that reads Kafka.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0008"
down_revision = "e1_0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "topic_placement",
        sa.Column("cluster_uid", sa.String(), nullable=False),
        sa.Column("topic", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cluster_uid", "topic"),
    )


def downgrade() -> None:
    op.drop_table("topic_placement")
