"""People of the portal: users, what they may do, and their sessions

Revision ID: e1_0005
Revises: e1_0004
Create Date: 2026-11-22

Only adds. The release before this one has no portal and looks at none of these tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0005"
down_revision = "e1_0004"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "portal_user",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("must_change", sa.Boolean(), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "role_binding",
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "role", "scope"),
    )
    op.create_table(
        "portal_session",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("user_name", sa.String(), nullable=False),
        sa.Column("csrf", sa.String(), nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_portal_session_user_name", "portal_session", ["user_name"])


def downgrade() -> None:
    op.drop_table("portal_session")
    op.drop_table("role_binding")
    op.drop_table("portal_user")
