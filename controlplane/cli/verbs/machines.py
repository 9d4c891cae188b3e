"""`kedge machines`: what clouds sell and for how much, by a home's files or by a server; and reading that anew."""

from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import exits
from controlplane.cli.address import home_of, names_server
from controlplane.cli.errors import CliError
from controlplane.cli.output import document, write_document
from controlplane.cli.session import Session, session_of
from events.quantities import counted

if TYPE_CHECKING:
    from controlplane.api.schemas.machines import MachinesOfRegionOut, MachinesOut
    from providers.base import Place
    from providers.overrides import RegionIn

machines = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class MachinesFormat(StrEnum):
    """Forms of the catalogue."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Home = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", show_default="KEDGE_HOME or ./.kedge", help="Where catalog.yaml is."),
]
Region = Annotated[str, typer.Option("--region", metavar="REGION", show_default=False, help="Only this region.")]


@machines.callback()
def root() -> None:
    """Show machine types and prices of clouds; refresh them.

    \b
    Examples:
      kedge machines list aws --region eu-west-1
      kedge machines refresh hetzner
    """


@machines.command("list")
def list_machines(
    context: typer.Context,
    cloud: Annotated[str, typer.Argument(metavar="CLOUD", show_default=False, help="Only this cloud.")] = "",
    region: Region = "",
    home: Home = None,
    output: Annotated[MachinesFormat, typer.Option("-o", "--output", help="Output format.")] = MachinesFormat.TABLE,
) -> None:
    """Show machine types, their neutral sizes, figures and prices.

    The shipped catalogue with the figures of catalog.yaml in the home over it. Prices are of a region: without
    --region, each region that catalog.yaml names. What was never read is `unknown`; what was read more than 90 days
    ago is flagged. With KEDGE_SERVER set and no --home that server is asked (`GET /v1/machines`), with its
    catalog.yaml; else no server is needed.

    Exit codes: 0 shown, 1 there is no such cloud, catalog.yaml is invalid, or the server cannot be asked.

    \b
    Examples:
      kedge machines list
      kedge machines list aws --region eu-west-1
      kedge machines list hetzner -o json | jq '.items[].machines[].price_per_month'
    """
    from controlplane.cli.machines_view import machines_lines

    session = session_of(context)
    if home is None and names_server(session.around.environ):
        answer = session.client.machines(cloud, region)
    else:
        answer = _in_home(session, home or home_of(session.around.environ, session.around.cwd), cloud, region)
    if output is not MachinesFormat.TABLE:
        write_document(session, output, document("MachineList", answer))
    else:
        for number, one in enumerate(answer.items):
            session.show(*([""] if number else []), *machines_lines(one))
    if answer.problem:
        session.tell(f"no price is known: {answer.problem}", "yellow")
    for one in answer.items:
        _warn(session, one)


@machines.command("refresh")
def refresh(
    context: typer.Context,
    cloud: Annotated[str, typer.Argument(metavar="CLOUD", show_default=False, help="Which cloud to ask.")],
    region: Region = "",
    types: Annotated[
        list[str],
        typer.Option("--types", metavar="PATTERN", show_default=False, help="Of the others only those like 'r6i.*'."),
    ] = [],  # noqa: B006  # typer reads it and changes nothing
    home: Home = None,
) -> None:
    """Ask a cloud for its types and prices; write them to catalog.yaml.

    It asks with this shell's credentials, once for each region of `<cloud>.yaml` in the home. Types that no shipped
    catalogue has are written too: specs may name them from then on. A figure that was read replaces the former one;
    others stay, with their own date. Comments in the file are lost.

    Exit codes: 0 written, 1 that cloud cannot be asked, or not everywhere; what was read before is kept.

    \b
    Examples:
      kedge machines refresh hetzner
      kedge machines refresh aws --region eu-west-1 --types 'r6i.*' --types 'm8g.*'
    """
    from providers.added_machines import add_machines_of
    from providers.catalog_file import sold_by
    from providers.errors import ProviderError
    from providers.price_reader import can_read_prices, read_prices

    session = session_of(context)
    folder = home or home_of(session.around.environ, session.around.cwd)
    add_machines_of(folder)
    if not can_read_prices(_known(cloud)):
        why = "its figures are the shipped catalogue's and what you write into catalog.yaml"
        raise CliError(f"{cloud} is not asked for prices yet", why=why, next_step="docs/costs.md shows the file")
    today = session.around.utc_now().date()
    known = set(sold_by(cloud).raw["machines"])
    for place in _places(folder, cloud, region):
        try:
            fresh = read_prices(folder / f"{cloud}.yaml", place, today=today)
        except ProviderError as error:
            raise CliError(f"{place} was not read", why=str(error), next_step=error.what_next) from None
        if types:
            kept = {
                n: m for n, m in fresh.machines.items() if n in known or any(fnmatchcase(n, like) for like in types)
            }
            fresh = fresh.model_copy(update={"machines": kept})
        _write(folder, place, fresh)
        session.tell(f"{cloud} {place.region}: {_read(cloud, fresh)}")


def _read(cloud: str, fresh: "RegionIn") -> str:
    """What came of one region, in words."""
    from providers.catalog_file import shipped_types

    more = len(fresh.machines.keys() - shipped_types(cloud))
    discovered = f", {more} of them in no shipped catalogue" if more else ""
    prices = sum(one.price_per_hour is not None or one.price_per_month is not None for one in fresh.machines.values())
    return f"{counted(len(fresh.machines), 'type')}{discovered}, {prices} with a price"


def _in_home(session: Session, home: Path, cloud: str, region: str) -> "MachinesOut":
    from controlplane.api.presenters.machines import regions_out
    from controlplane.api.schemas.machines import MachinesOut
    from providers.added_machines import add_machines_of
    from providers.errors import PlaceUnknown
    from providers.price_list import read_price_list

    add_machines_of(home)
    try:
        price_list = read_price_list(home)
    except PlaceUnknown as error:
        raise CliError("catalog.yaml is invalid", why=str(error), next_step="fix it (docs/costs.md)") from None
    try:
        found = price_list.sold(cloud, region)
    except PlaceUnknown as error:
        raise CliError(str(error), next_step="`kedge machines list` shows all there is") from None
    return MachinesOut(items=regions_out(found, session.around.utc_now().date()))


def _known(cloud: str) -> str:
    from providers.price_list import CLOUDS

    if cloud not in CLOUDS:
        raise CliError(f"no cloud {cloud!r} has a catalogue", next_step=f"use one of: {', '.join(CLOUDS)}")
    return cloud


def _places(home: Path, cloud: str, region: str) -> "list[Place]":
    """One account for each region: prices are the same for all of them."""
    import yaml

    from providers.doctor import places_in

    path = home / f"{cloud}.yaml"
    try:
        found = places_in(cloud, path)
    except FileNotFoundError:
        raise CliError("nothing says with which account to ask", where=str(path), why="there is no such file") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise CliError("it does not name accounts and regions", where=str(path), why=str(error)) from None
    by_region = {place.region: place for place in reversed(found) if region in ("", place.region)}
    if not by_region:
        there = ", ".join(sorted({p.region for p in found})) or "none"
        raise CliError(f"no region {region!r}", where=str(path), why=f"it has {there}", exit_code=exits.FAILED)
    return [by_region[name] for name in sorted(by_region)]


def _write(home: Path, place: "Place", fresh: "RegionIn") -> None:
    """Lays it over the file as it is now, whole or not at all."""
    from controlplane.runtime.atomic_file import replacing
    from providers.errors import PlaceUnknown
    from providers.overrides import FILE_NAME, as_text, read_overrides

    path = home / FILE_NAME
    try:
        text = as_text(read_overrides(path).with_region(place.cloud, place.region, fresh))
        with replacing(path) as new:
            new.write_text(text, encoding="utf-8")
    except (PlaceUnknown, ValueError, OSError) as error:
        raise CliError("catalog.yaml was not written", where=str(path), why=str(error)) from None


def _warn(session: Session, item: "MachinesOfRegionOut") -> None:
    where = f"{item.cloud} {item.region or ''}".strip()
    if item.old:
        session.tell(f"{where}: {counted(len(item.old), 'figure')} older than 90 days", "yellow")
    if item.unmatched:
        named = ", ".join(item.unmatched)
        session.tell(f"{where}: catalog.yaml names what the catalogue has not: {named}", "yellow")
