"""Text of others on a terminal, with a style: what it says cannot steer the terminal."""

from rich.text import Text

from controlplane.runtime.untrusted_text import on_terminal


def styled(text: str, style: str = "") -> Text:
    """Foreign text with a style of its own, which text appended later does not inherit."""
    return Text().append(on_terminal(text), style=style or None)
