"""Commands in the pages exist: verbs and options of `kedge`, targets of make, benchmarks, modules."""

import re
import shlex
import tomllib
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from typing import Any

import pytest
import typer
import yaml

from benchmarks import __path__ as benchmark_folders
from controlplane.cli.main import app, main
from providers.tf.modules import pinned_providers
from tests.stages import STAGES
from tests.unit.docs.doc_pages import PAGES as DOCUMENTS, ROOT, blocks, text

PAGES: tuple[str, ...] = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/operating.md",
    "docs/architecture.md",
    "docs/life-of-a-roll.md",
)
PAGES += ("docs/drain-plans.md", "docs/git.md", "docs/install.md", "docs/demo.md", "docs/first-cluster.md")
SHELL = {"cp", "sed", "git", "pip"}
"""Programs of the shell that need no proof."""

TARGETS = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
INLINE = re.compile(r"`((?:kedge|make|python -m benchmarks) [^`\n]+)`")


def _commands(name: str) -> list[str]:
    """Commands of the page's shell blocks, a here-document's text left out, and those in running text."""
    page = text(name)
    found = [line for block in blocks(page) if block.language == "sh" for line in _shell_lines(block.lines)]
    return found + INLINE.findall(page)


def _shell_lines(lines: list[str]) -> list[str]:
    kept, ends_with = [], ""
    for line in lines:
        if ends_with:
            ends_with = "" if line == ends_with else ends_with
            continue
        if here := re.search(r"<<'(\w+)'$", line):
            ends_with, line = here[1], line[: here.start()]
        if line.strip():
            kept.append(line)
    return kept


@pytest.mark.parametrize(
    ("page", "command"), [(page, c) for page in PAGES for c in _commands(page)], ids=lambda value: value[:60]
)
def test_the_command_exists(page: str, command: str) -> None:
    words = shlex.split(command, comments=True)
    match words:
        case ["make", target, *_]:
            assert target in TARGETS
        case ["export", "PATH=$PWD/.venv/bin:$PATH"]:
            assert page in ("docs/install.md", "docs/first-cluster.md", "docs/operating.md"), "in a checkout"
        case ["kedge", verb, *rest]:
            assert verb in VERBS, f"{verb} is not a verb"
            _check_options(VERBS[verb], rest)
        case [".venv/bin/python", "-m", "tests.stages", stage]:
            assert stage in {s.name for s in STAGES}
        case [".venv/bin/python", "-m", module, *paths]:
            assert find_spec(module) is not None
            assert all((ROOT / p).exists() for p in paths if p.startswith("tests/"))
        case ["python", "-m", "benchmarks", name]:
            assert name == "NAME" or any(
                (ROOT / folder / file).exists()
                for folder in benchmark_folders
                for file in (f"{name}.py", f"{name}/__init__.py")
            )
        case ["terraform", chdir, "providers", "mirror", *_]:
            assert pinned_providers(ROOT / chdir.removeprefix("-chdir=")), (
                "a module without providers has none to mirror"
            )
        case [".venv/bin/python", "-"] | [".venv/bin/pre-commit", "install"]:
            pass
        case [program, *_]:
            assert program in SHELL


def _check_options(command: Any, rest: list[str]) -> None:
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("-")}
    assert given <= known


NAMED = re.compile(r"(?:`|<code>|^ *)kedge ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", re.MULTILINE)
"""A command as pages, messages and templates name it: the verb, and what may be one of a group."""


def _speakers() -> list[str]:
    """Whatever tells people what to type."""
    sources = [*ROOT.glob("controlplane/**/*.py"), *ROOT.glob("planner/**/*.py"), *ROOT.glob("events/**/*.py")]
    templates = ROOT.glob("controlplane/portal/templates/*.html")
    return sorted(str(p.relative_to(ROOT)) for p in [*sources, *templates, *DOCUMENTS])


@pytest.mark.parametrize("file", _speakers())
def test_no_page_message_or_document_names_a_command_that_is_not_there(file: str) -> None:
    for verb, sub in NAMED.findall(text(file)):
        assert verb in VERBS, f"there is no `kedge {verb}`"
        assert not sub or sub in getattr(VERBS[verb], "commands", {sub}), f"there is no `kedge {verb} {sub}`"


def test_setup_installs_the_command_that_the_docs_name() -> None:
    """In a checkout's environment, from any directory: `requirements/install.py --project`."""
    project = tomllib.loads(text("pyproject.toml"))
    assert EntryPoint("kedge", project["project"]["scripts"]["kedge"], "console_scripts").load() is main
    assert project["tool"]["hatch"]["build"]["dev-mode-dirs"] == ["."]
    installs = [line for line in text("Makefile").splitlines() if "$(INSTALL) " in line and "$(VENV)" in line]
    assert len(installs) == 2
    assert all("--project" in line for line in installs)


def test_the_stages_keep_the_time_the_readme_promises() -> None:
    minutes = int(re.findall(r"less than (\d+) minutes on 2 cores", text("README.md"))[0])
    assert sum(stage.budget_s for stage in STAGES) < minutes * 60


def test_hooks_are_local_and_run_what_is_installed() -> None:
    repositories = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    assert {r["repo"] for r in repositories} == {"local"}
    assert {h["language"] for h in hooks} == {"system"}
    modules = [m[1] for h in hooks if (m := re.match(r"\.venv/bin/python -m ([\w.]+)", h["entry"]))]
    assert {"ruff", "mypy", "events.spec.reference", "controlplane.cli.reference"} <= set(modules)
    assert all(find_spec(module) is not None for module in modules)


def test_every_figure_names_the_command_it_comes_from() -> None:
    figures = text("docs/benchmarks.md").partition("<!-- figures -->")[2].partition("<!-- figures end -->")[0]
    rows = figures.strip().splitlines()[2:]
    assert rows
    assert all(re.search(r"`(make|python -m benchmarks) [^`]+` \|$", row) for row in rows)
