"""Verbs of users of clusters: which there are, one of them, its password and its certificate, delete one."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.api.schemas import kafka_users as user_api
from controlplane.cli.errors import CliError
from controlplane.cli.kafka_users_view import user_lines, user_table
from controlplane.cli.options import Cluster, Output, Reason
from controlplane.cli.output import Format, document, show_answer, show_or_write, write_document
from controlplane.cli.private_file import new_private_file
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import session_of
from controlplane.runtime.quantities import moment

users = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

User = Annotated[str, typer.Argument(metavar="USER", show_default=False, help="Name of the user.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="FILE", show_default=False, help="A new file, for its owner alone (0600).")
]


@users.callback()
def root() -> None:
    """Show users of a cluster's Kafka, hand out credentials, delete one.

    They are declared: kedge apply -f FILE.

    \b
    Examples:
      kedge users list orders
      kedge users get orders alice
      kedge users password orders alice --out alice.password
      kedge users certificate orders bob --csr bob.csr --out bob.pem
      kedge users delete orders alice --confirm alice
    """


@users.command("list")
def list_users(
    context: typer.Context,
    cluster: Cluster,
    match: Annotated[str, typer.Option("--match", metavar="TEXT", help="Part of the user's name.")] = "",
    output: Output = Format.TEXT,
) -> None:
    """Show the declared users of a cluster.

    STATE: Declared (not yet seen to be so in Kafka), Changing, InSync, Degraded, Deleting.

    \b
    Examples:
      kedge users list orders
      kedge users list orders -o json | jq -r '.users[] | select(.password == "collectable") | .name'
    """
    session = session_of(context)
    found = session.client.kafka_users(cluster, match=match)
    if output is not Format.TEXT:
        write_document(session, output, document("KafkaUserList", found))
    elif found.users:
        session.show(user_table(found.users))
    else:
        none = (
            f"no user of {cluster} matches" if match else f"no user; to declare some: kedge apply -f FILE ({cluster})"
        )
        session.tell(none)


@users.command()
def get(context: typer.Context, cluster: Cluster, name: User, output: Output = Format.TEXT) -> None:
    """Show one user: authentication, rights, quotas, and what of it is in Kafka.

    \b
    Examples:
      kedge users get orders alice
    """
    session = session_of(context)
    found = session.client.kafka_user(cluster, name)
    show_or_write(session, output, document("KafkaUser", found), *user_lines(found, now=session.around.utc_now()))


@users.command()
def password(context: typer.Context, cluster: Cluster, name: User, out: Out) -> None:
    """Collect the password of a SCRAM user, once.

    It is given away once: Kedge keeps none of it.

    \b
    Examples:
      kedge users password orders alice --out alice.password
    """
    session = session_of(context)
    with new_private_file(out) as write:
        write(session.client.collect_password(cluster, name).password + "\n")
    session.tell(f"the password of {cluster}/{name} is in {out}, and nowhere else", "green")


@users.command()
def rotate(
    context: typer.Context, cluster: Cluster, name: User, reason: Reason = "", output: Output = Format.TEXT
) -> None:
    """Replace the password of a SCRAM user by another one.

    It can be collected once Kafka has it. New connections need it from then on; old ones end within `reauthenticate` of
    their listener. For an overlap declare a second user with the same rights.

    \b
    Examples:
      kedge users rotate orders alice --reason "it was in a ticket"
    """
    session = session_of(context)
    show_answer(
        session, session.client.rotate_password(cluster, name, user_api.RotatePasswordIn(reason=reason)), output
    )


@users.command()
def certificate(
    context: typer.Context,
    cluster: Cluster,
    name: User,
    csr: Annotated[
        Path, typer.Option("--csr", metavar="FILE", show_default=False, help="Signing request (PKCS#10, PEM).")
    ],
    out: Out,
    days: Annotated[int, typer.Option("--days", min=1, max=730, help="How long it is believed.")] = 365,
) -> None:
    """Have the key of a `tls` user signed by the cluster's clients CA.

    The subject becomes CN=USER, whatever the request says. The key stays where it was made.

    \b
    Examples:
      openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout bob.key -subj /CN=bob -out bob.csr
      kedge users certificate orders bob --csr bob.csr --out bob.pem
    """
    session = session_of(context)
    try:
        request = csr.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise CliError("cannot read the signing request", where=str(csr), why=str(error)) from None
    with new_private_file(out) as write:
        signed = session.client.sign_certificate(cluster, name, user_api.CertificateIn(request=request, days=days))
        write(signed.certificate)
    session.tell(f"{out}: CN={name}, serial {signed.serial}, until {moment(signed.until)}", "green")
    session.tell(f"by this CA it knows brokers: kedge endpoints {cluster} --ca")


@users.command()
def delete(
    context: typer.Context,
    cluster: Cluster,
    name: User,
    confirmed: Annotated[
        str,
        typer.Option("--confirm", metavar="USER", show_default=False, help="The user's name, instead of typing it."),
    ] = "",
    retain: Annotated[bool, typer.Option("--retain", help="Leave it in Kafka as it is, unmanaged.")] = False,
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Delete a user. Asks for its name to be typed.

    Its credential, rights and quotas are taken out of Kafka: its clients are refused. A certificate of it stays one,
    and may do nothing any more.

    \b
    Examples:
      kedge users delete orders alice --confirm alice
      kedge users delete orders alice --confirm alice --retain
    """
    session = session_of(context)
    session.client.kafka_user(cluster, name)
    fate = "it stays in Kafka, unmanaged" if retain else "its credential, rights and quotas are taken out of Kafka"
    session.tell(f"{cluster}/{name}: {fate}", "bold")
    by_hand = f"kedge users delete {cluster} {name} --confirm {name}"
    typed = confirmed or typed_name(session, f"Type the name of the user to delete it ({name})", unattended=by_hand)
    if typed != name:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{name}`", next_step=by_hand)
    order = user_api.DeleteKafkaUserIn(confirm=typed, reason=reason, retain=retain)
    show_answer(session, session.client.delete_kafka_user(cluster, name, order), output)
