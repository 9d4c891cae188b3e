"""Problems of a spec as people read them: file:line:column, code, cause, fix, all at once."""

from collections.abc import Sequence

from rich.text import Text

from controlplane.api.schemas.specs import ProblemOut
from controlplane.cli.errors import CliError
from controlplane.cli.session import Session
from controlplane.runtime.styled_text import styled
from events.quantities import counted


def problem_lines(problem: ProblemOut) -> list[Text]:
    """Two lines: where and what, then the fix. The first has the form editors and CI turn into a link."""
    where = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    style = "red" if problem.severity == "error" else "yellow"
    first = styled(f"{where}: ", "bold").append_text(styled(f"{problem.severity} {problem.code}", style))
    return [first.append_text(styled(f": {problem.message}")), styled(f"  fix: {problem.fix}")]


def tell_problems(session: Session, problems: Sequence[ProblemOut]) -> None:
    """All of them, as talk."""
    for problem in problems:
        session.tell_all(*problem_lines(problem))


def refuse_problems(session: Session, problems: Sequence[ProblemOut], *, file: str, next_step: str = "") -> CliError:
    """Tells the problems; the error to raise then. `next_step`: where `file` is no file to be mended."""
    tell_problems(session, problems)
    errors = sum(problem.severity == "error" for problem in problems)
    why = f"{counted(errors, 'error')}; nothing was changed, the last good spec stays in force"
    then = next_step or f"fix it, then: kedge validate -f {file}"
    return CliError("the spec is refused", where=file, why=why, next_step=then)
