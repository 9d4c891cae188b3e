"""Colour and animation: two questions. The precedence of the first, the independence of the second."""

import io
import subprocess
from itertools import product

import pytest
from rich.text import Text

from controlplane.cli.terminal import UNBOUNDED, can_animate, console, wants_colour
from controlplane.runtime.untrusted_text import on_terminal, shell_word

YES, NO = {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}


@pytest.mark.parametrize(
    ("environ", "no_color", "is_terminal", "coloured"),
    [
        ({}, False, True, True),
        ({}, False, False, False),
        ({"TERM": "dumb"}, False, True, False),
        ({"TERM": "unknown"}, False, True, False),
        (YES, False, False, True),
        ({**YES, "TERM": "dumb"}, False, True, True),
        (NO, False, True, False),
        ({**NO, **YES}, False, True, False),
        ({**NO, **YES}, False, False, False),
        (YES, True, True, False),
        ({}, True, True, False),
        ({"NO_COLOR": ""}, False, True, True),
        ({"FORCE_COLOR": ""}, False, False, False),
    ],
)
def test_the_flag_beats_no_color_beats_force_color_beats_the_terminal(
    environ: dict[str, str], no_color: bool, is_terminal: bool, coloured: bool
) -> None:
    assert wants_colour(environ, no_color=no_color, is_terminal=is_terminal) is coloured


@pytest.mark.parametrize(("environ", "is_terminal"), list(product([{}, YES, NO], [True, False])))
def test_animation_depends_on_the_terminal_alone(environ: dict[str, str], is_terminal: bool) -> None:
    assert can_animate(environ, is_terminal=is_terminal) is is_terminal


def test_a_dumb_terminal_is_not_animated() -> None:
    assert not can_animate({"TERM": "dumb"}, is_terminal=True)


@pytest.mark.parametrize(
    ("environ", "is_terminal"), list(product([{}, {"TERM": "dumb"}, {"TERM": "xterm"}], [True, False]))
)
@pytest.mark.parametrize("colour", [True, False])
def test_a_console_colours_exactly_when_told_to(environ: dict[str, str], is_terminal: bool, colour: bool) -> None:
    stream = io.StringIO()
    console(stream, environ, colour=colour, is_terminal=is_terminal).print(Text("x", style="bold red"))
    assert ("\x1b[" in stream.getvalue()) is colour


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}, {"TERM": "xterm"}])
@pytest.mark.parametrize("colour", [True, False])
def test_a_pipe_gets_whole_lines(environ: dict[str, str], colour: bool) -> None:
    stream = io.StringIO()
    on = console(stream, environ, colour=colour, is_terminal=False)
    on.print(Text("word " * 500))
    assert (stream.getvalue().count("\n"), on.width) == (1, UNBOUNDED)


def test_columns_is_honoured_on_a_terminal() -> None:
    assert console(io.StringIO(), {"COLUMNS": "99"}, colour=False, is_terminal=True).width == 99


def test_foreign_text_cannot_steer_the_terminal_or_be_read_as_markup() -> None:
    assert on_terminal("a\x1b[2Jb\rc\x07") == "a?[2Jb?c?"
    stream = io.StringIO()
    console(stream, {}, colour=True, is_terminal=True).print("[red]:smile: 42[/red]")
    assert stream.getvalue() == "[red]:smile: 42[/red]\n"


@pytest.mark.parametrize(
    "text", ["plain", "two words", "; rm -rf ~", "$(id)", "it's", "a\nb", "tab\tquote'back\\slash", "\x1b[31m", "naïve"]
)
def test_a_name_in_a_command_to_copy_is_one_word_of_it_whatever_it_holds(text: str) -> None:
    word = shell_word(text)
    assert word.isprintable()
    said = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert said.stdout.decode() == text
