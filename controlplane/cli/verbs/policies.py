"""`kedge policy`: try policy files before they are put into the server's home."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.address import home_of
from controlplane.cli.errors import CliError
from controlplane.cli.options import SpecPath
from controlplane.cli.session import Session, session_of
from controlplane.cli.spec_file import read_spec
from controlplane.runtime.styled_text import styled
from events.quantities import counted

if TYPE_CHECKING:
    from controlplane.commands.policies.model import Policy
    from providers.price_list import PriceList

policy = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", show_default="policies/ of KEDGE_HOME or ./.kedge", help="Folder of the files."),
]


@policy.callback()
def root() -> None:
    """Test policies: what may be declared, and what waits for a second person.

    They are files in `policies/` of the server's home, and no server is asked here.

    \b
    Examples:
      kedge policy test policies/
      kedge policy check -f orders.yaml policies/
    """


@policy.command("test")
def run_tests(context: typer.Context, folder: Folder = None) -> None:
    """Run the tests that policies carry.

    Each test is a spec and the answer expected of its policy alone: allowed, refused or reserved.

    Exit codes: 0 all passed, 1 one failed, or a file is invalid.

    \b
    Examples:
      kedge policy test
      kedge policy test policies/
    """
    from controlplane.commands.policies.files import try_out

    session = session_of(context)
    where = _folder(session, folder)
    policies, price_list = _read(where), _prices(session)
    trials = try_out(policies, price_list)
    for trial in trials:
        word, style = ("failed", "red") if trial.fault else ("passed", "green")
        session.show(styled(f"{word} ", style).append_text(styled(f"{trial.policy}: {trial.test}")))
        if trial.fault:
            session.show(f"  {trial.fault}")
    failed = sum(bool(trial.fault) for trial in trials)
    session.tell(f"policies: {len(policies)}, tests: {len(trials)}, failed: {failed}")
    if failed:
        raise CliError(f"{counted(failed, 'test')} failed", where=str(where), next_step="fix the policy or its test")


@policy.command()
def check(context: typer.Context, file: SpecPath, folder: Folder = None) -> None:
    """Check a spec that is not in force against policies.

    Topics count where their cluster stands in the same file. What a server knows besides (what is in force, topics of
    Kafka) is no part of it: `kedge plan` asks the server.

    Exit codes: 0 allowed or reserved, 1 refused.

    \b
    Examples:
      kedge policy check -f orders.yaml
      kedge policy check -f orders.yaml policies/
    """
    from controlplane.commands.policies.files import judge_text

    session = session_of(context)
    where = _folder(session, folder)
    spec = read_spec(file)
    try:
        verdict = judge_text(_read(where), spec.text, file=spec.name, price_list=_prices(session))
    except ValueError as error:
        then = f"kedge validate --offline -f {spec.name}"
        raise CliError("the spec cannot be judged", why=str(error), next_step=then) from None
    session.show(verdict.word)
    for reason in verdict.reasons:
        session.show(f"  a second person must approve: {reason}")
    for refusal in verdict.refusals:
        path = ".".join(str(step) for step in refusal.path)
        session.show(f"  {path}: {refusal.message} (policy `{refusal.policy}`)", f"    fix: {refusal.fix}")
    if verdict.refusals:
        raise CliError("the spec is refused by a policy", where=spec.name)


def _folder(session: Session, folder: Path | None) -> Path:
    found = folder or home_of(session.around.environ, session.around.cwd) / "policies"
    if not found.is_dir():
        then = "name the folder: kedge policy test DIR"
        raise CliError("there is no such folder of policies", where=str(found), next_step=then)
    return found


def _read(folder: Path) -> "tuple[Policy, ...]":
    from controlplane.commands.policies.files import PoliciesUnreadable, parse, read_texts

    try:
        return parse(read_texts(folder))
    except PoliciesUnreadable as broken:
        why = "; ".join(broken.problems[:10])
        raise CliError("the policies are invalid", where=str(folder), why=why, next_step="docs/policies.md") from None


def _prices(session: Session) -> "PriceList":
    from providers.errors import PlaceUnknown
    from providers.price_list import PriceList, read_price_list

    try:
        return read_price_list(home_of(session.around.environ, session.around.cwd))
    except PlaceUnknown as error:
        session.tell(f"catalog.yaml is invalid, every price is unknown: {error}", "yellow")
        return PriceList()
