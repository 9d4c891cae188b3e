"""Who may: API tokens, people of an OIDC provider, and the audit trail

Revision ID: e1_0006
Revises: e1_0005
Create Date: 2026-11-22

Only adds. The release before this one knows no token and no provider; its calls are in no audit trail.
"""

import sqlalchemy as sa
from alembic import op

revision = "e1_0006"
down_revision = "e1_0005"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
SQLITE_APPEND_ONLY = """
CREATE TRIGGER audit_entry_no_{verb} BEFORE {verb} ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END
"""
POSTGRESQL_APPEND_ONLY = """
CREATE FUNCTION audit_entry_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_is_append_only();
"""


def upgrade() -> None:
    op.add_column("portal_user", sa.Column("disabled_at", TIME, nullable=True))
    op.add_column("portal_session", sa.Column("ends_at", TIME, nullable=True))
    op.create_table(
        "oidc_person",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sub", sa.String(), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("signed_in_at", TIME, nullable=False),
        sa.Column("disabled_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "oidc_attempt",
        sa.Column("state_sha256", sa.String(), nullable=False),
        sa.Column("ended_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("state_sha256"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("secret_sha256", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("maker", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=True),
        sa.Column("used_from", sa.String(), nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_api_token_maker", "api_token", ["maker"])
    op.create_table(
        "audit_entry",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("via", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("call", sa.String(), nullable=False),
        sa.Column("verb", sa.String(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("event_position", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
    op.create_index("ix_audit_entry_at", "audit_entry", ["at"])
    if op.get_context().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(SQLITE_APPEND_ONLY.format(verb=verb))
    else:
        op.execute(POSTGRESQL_APPEND_ONLY)


def downgrade() -> None:
    op.drop_table("audit_entry")
    if op.get_context().dialect.name != "sqlite":
        op.execute("DROP FUNCTION audit_entry_is_append_only()")
    op.drop_table("api_token")
    op.drop_table("oidc_attempt")
    op.drop_table("oidc_person")
    with op.batch_alter_table("portal_session") as session:
        session.drop_column("ends_at")
    with op.batch_alter_table("portal_user") as user:
        user.drop_column("disabled_at")
