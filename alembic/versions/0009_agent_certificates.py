"""When the agent of a VM showed a certificate for the first time

Revision ID: e1_0009
Revises: e1_0008
Create Date: 2026-11-24

Only adds: the release before this one asks for no certificate and hears agents by their credentials.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0009"
down_revision = "e1_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agent_credential", sa.Column("certified_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("agent_credential", "certified_at")
