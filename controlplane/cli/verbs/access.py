"""Verbs about who one is and what was done: login, audit; token create, list, revoke."""

import getpass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from controlplane.api.schemas.access import AuditEntryOut, TokenIn, TokenOut
from controlplane.cli import address, client, errors, options, tables, token_store
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import Session, session_of
from controlplane.runtime.quantities import ago, moment
from events.secrets import secret

token = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_HOW = "make a token on your account page in the portal"


def login(
    context: typer.Context,
    server: Annotated[
        str,
        typer.Option(
            "--server", metavar="URL", show_default="KEDGE_SERVER, else this home's", help="Whose token it is."
        ),
    ] = "",
    forget: Annotated[bool, typer.Option("--forget", help="Delete the stored token.")] = False,
) -> None:
    """Store a token for a server.

    Create the token on your account page in the portal. It is asked for, or read from standard input; tested; and
    stored for your user alone (mode 0600). KEDGE_TOKEN and KEDGE_TOKEN_FILE take precedence.

    \b
    Examples:
      kedge login --server https://kedge.example.com:8444
      kedge login --server https://kedge.example.com:8444 < token.txt
      kedge login --forget
    """
    session = session_of(context)
    around = session.around
    url = address.server_url({**around.environ, "KEDGE_SERVER": server} if server else around.environ, around.cwd)[0]
    if forget:
        session.tell(f"forgotten in {token_store.keep_token(around.environ, url, '')}")
        return
    text = token_store.checked(_asked(session, url), where="what was given")
    shown = secret(text)
    tried = client.Client(
        lambda: address.ServerAddress(url, shown, "kedge login"), transport=around.transport, sleep=around.sleep
    )
    try:
        who = tried.whoami()
    finally:
        tried.close()
    path = token_store.keep_token(around.environ, url, text)
    most = " or ".join(f"{b.role} on {b.scope}" for b in ([who.limit] if who.limit else []) + who.granted)
    limit = f", at most {most}" if most else ""
    session.show(f"{who.subject} at {url}{limit}")
    session.tell(f"kept in {path}; for another directory: export KEDGE_SERVER={url}")


@token.callback()
def root() -> None:
    """Create, list and revoke API tokens.

    \b
    Examples:
      kedge token create ci --role operator --scope team:payments --days 30
      kedge token list
      kedge token revoke 0123456789ab
    """


@token.command()
def create(
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", show_default=False, help="Label.")],
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="Maximum role.")] = "viewer",
    scope: Annotated[
        str, typer.Option("--scope", metavar="SCOPE", help="*, team:NAME, label:KEY=VALUE or cluster:NAME.")
    ] = "*",
    days: Annotated[float, typer.Option("--days", metavar="N", min=0.01, max=366, help="Lifetime.")] = 90,
    output: options.Output = Format.TEXT,
) -> None:
    """Create a token and print it once.

    A token never has more rights than its owner has at that moment, and ends with the owner's account. With the
    token of the server's home the installation owns it; a person's token cannot create one.

    \b
    Examples:
      kedge token create ci --role operator --scope team:payments --days 30
    """
    session = session_of(context)
    made = session.client.make_token(TokenIn(label=label, role=role, scope=scope, days=days))
    if output is not Format.TEXT:
        write_document(session, output, document("TokenMade", made))
        return
    session.tell(f"{made.token.id}: {made.token.role} on {made.token.scope} until {moment(made.token.expires_at)}")
    session.write(made.text)


@token.command("list")
def list_tokens(
    context: typer.Context,
    everyone: Annotated[bool, typer.Option("--everyone", help="Tokens of all users; for administrators.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """List tokens, newest first. Their texts are not stored.

    \b
    Examples:
      kedge token list
      kedge token list --everyone -o json
    """
    session = session_of(context)
    found = session.client.tokens(everyone=everyone)
    if output is not Format.TEXT:
        items = [one.model_dump(mode="json") for one in found]
        write_document(session, output, document("TokenList", {"items": items}))
    elif found:
        session.show(_token_table(found, session.around.utc_now()))
    else:
        session.tell("no token yet")


@token.command()
def revoke(
    context: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="As `kedge token list` says.")],
) -> None:
    """End a token now. Streams that are open with it close within 5 seconds.

    \b
    Examples:
      kedge token revoke 0123456789ab
    """
    session = session_of(context)
    changed = session.client.revoke_token(token_id).changed
    session.show(f"{token_id} {'is revoked' if changed else 'was revoked already'}")


def audit(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", show_default=False, help="Text in call, verb, object or note.")
    ] = "",
    who: Annotated[str, typer.Option("--who", metavar="NAME", show_default=False, help="Part of the actor.")] = "",
    outcome: Annotated[str, typer.Option("--outcome", metavar="WORD", help="done, denied or failed.")] = "",
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="As in 2026-01-31T14:00; UTC.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Before then.")] = "",
    request: Annotated[
        str, typer.Option("--request", metavar="ID", show_default=False, help="Only one request, by its full id.")
    ] = "",
    before: Annotated[int, typer.Option("--before", metavar="N", min=0, help="Only entries before this one.")] = 0,
    limit: Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, max=1000, help="So many.")] = 50,
    check: Annotated[bool, typer.Option("--check", help="Verify the hash of every entry instead.")] = False,
    output: options.Output = Format.TEXT,
) -> None:
    """Show the audit: changes and refusals.

    Every call that changes something and every one that was denied, newest first. For administrators and auditors.

    \b
    Examples:
      kedge audit
      kedge audit orders --outcome denied --since 2026-01-31
      kedge audit --who ada -n 1000 -o json
      kedge audit --request 0123456789abcdef
      kedge audit --check
    """
    session = session_of(context)
    if check:
        session.show(f"{session.client.check_audit().entries} entries, each as it was written")
        return
    asked = {
        "q": text,
        "who": who,
        "outcome": outcome,
        "since": _moment(since),
        "until": _moment(until),
        "request": request,
    }
    params = {name: value for name, value in asked.items() if value} | {"limit": str(limit)}
    found = session.client.audit(params | ({"before": str(before)} if before else {}))
    if output is not Format.TEXT:
        write_document(session, output, document("AuditList", found))
        return
    session.show(_audit_table(found.entries))
    if found.older:
        session.tell(f"older ones: --before {found.older}")


def _asked(session: Session, url: str) -> str:
    if session.can_ask:
        return getpass.getpass(f"Token for {url}: ")
    text = session.around.read_line()
    if not text.strip():
        raise errors.CliError("no token was given", why="standard input is empty", next_step=_HOW)
    return text


def _moment(text: str) -> str:
    if not text:
        return ""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise errors.CliError(f"`{text}` is not a time", next_step="write it as in 2026-01-31T14:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()


def _token_table(tokens: list[TokenOut], now: datetime) -> Table:
    rows = [
        (t.id, t.label, t.maker, f"{t.role} on {t.scope}", t.state, moment(t.expires_at), ago(t.used_at, now))
        for t in tokens
    ]
    return tables.listing(["ID", "LABEL", "MAKER", "AT MOST", "STATE", "ENDS", "USED"], rows)


def _audit_table(entries: list[AuditEntryOut]) -> Table:
    rows = [
        (
            str(e.position),
            moment(e.at),
            e.who,
            e.via,
            e.client,
            e.verb,
            e.object,
            f"{e.outcome} {e.status}",
            e.request or "-",
            e.call,
        )
        for e in entries
    ]
    return tables.listing(["ENTRY", "WHEN", "WHO", "VIA", "FROM", "VERB", "OBJECT", "OUTCOME", "REQUEST", "CALL"], rows)
