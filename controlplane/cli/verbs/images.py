"""Verbs of images: the catalogue (list, show, publish, withdraw), and what makes and judges one (build, scan)."""

from typing import Annotated, Any

import typer

from controlplane.api.schemas import images as api
from controlplane.cli.errors import CliError
from controlplane.cli.image_file import checked, image_in_file, images_of
from controlplane.cli.image_view import image_lines, image_table
from controlplane.cli.options import Output, Reason
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import Session, session_of
from controlplane.cli.verbs.image_build import build
from controlplane.cli.verbs.image_scan import scan

images = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The revision, as in 4.2.0-r3.")]


@images.callback(invoke_without_command=True)
def root(context: typer.Context, output: Output = Format.TEXT) -> None:
    """Show the image catalogue, and how many clusters still have to roll.

    \b
    Examples:
      kedge images
      kedge images show 4.2.0-r3
      kedge images -o json | jq '.items[] | select(.security == "critical") | .due[].name'
    """
    if context.invoked_subcommand is None:
        _list(session_of(context), output)


@images.command(name="list")
def list_(context: typer.Context, output: Output = Format.TEXT) -> None:
    """The same as `kedge images`.

    \b
    Examples:
      kedge images list
    """
    _list(session_of(context), output)


@images.command()
def show(context: typer.Context, name: Name, output: Output = Format.TEXT) -> None:
    """Show one revision: clusters on it, clusters that still roll to it, and why.

    \b
    Examples:
      kedge images show 4.2.0-r3
    """
    session = session_of(context)
    found = session.client.image(name)
    show_or_write(session, output, document("Image", found), *image_lines(found, now=session.around.utc_now()))


@images.command()
def publish(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="YAML of the revision; - reads standard input.")
    ] = "",
    kafka: Annotated[str, typer.Option("--kafka", metavar="VERSION", help="Without a file: its Kafka version.")] = "",
    image: Annotated[
        list[str] | None,
        typer.Option("--image", metavar="CLOUD/REGION/ARCH=ID", show_default=False, help="An image; may be repeated."),
    ] = None,
    security: Annotated[
        str, typer.Option("--security", metavar="LEVEL", help="Severity of what it fixes: low, high or critical.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason of the flag, as in CVE-2026-1.")] = "",
    notes: Annotated[str, typer.Option("--notes", metavar="TEXT", help="Notes.")] = "",
) -> None:
    """Publish a revision of a Kafka version.

    Clusters that follow it roll to it, staging before production.
    Without a number in the file it becomes the next one of its Kafka version. What is published never changes; the
    same file again is no second revision.

    \b
    Examples:
      kedge images publish image.yaml
      kedge images publish --kafka 4.2.0 --image aws/eu-west-1/arm64=ami-0123456789abcdef0
      kedge images publish --kafka 4.2.0 --image local/local-1/any=r2 --security critical --reason CVE-2026-1
    """
    session = session_of(context)
    if file and (kafka or image or security or reason or notes):
        raise CliError("no image was published", why="it is a file or options, not both", next_step="leave one out")
    if file:
        order = image_in_file(file)
    else:
        document: dict[str, Any] = {"kafka": kafka, "images": images_of(image or ()), "security": security}
        order = checked({**document, "reason": reason, "notes": notes}, "the options")
    session.show(session.client.publish_image(order).sentence)


@images.command()
def withdraw(context: typer.Context, name: Name, reason: Reason = "") -> None:
    """Withdraw a revision: no cluster begins to roll to it.

    A roll to it in hand goes no further; VMs made from it stay.

    \b
    Examples:
      kedge images withdraw 4.2.0-r3 --reason "brokers lose their network after an hour"
    """
    session = session_of(context)
    session.show(session.client.withdraw_image(name, api.ImageWithdrawalIn(reason=reason)).sentence)


images.command()(build)
images.command()(scan)


def _list(session: Session, output: Format) -> None:
    found = session.client.images()
    if output is not Format.TEXT:
        write_document(session, output, document("ImageList", found))
    elif not found.items:
        session.tell("no image yet: VMs are made from what the cloud's settings name (docs/images-and-security.md)")
    else:
        session.show(image_table(found.items, now=session.around.utc_now()))
