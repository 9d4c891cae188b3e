"""What a text is where it is no spec, and which of its characters only look right: told by its cause, not by what a
parser stumbles over some lines later. Pure.
"""

import re
import unicodedata
from dataclasses import dataclass

_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
LINES_LOOKED_BACK = 3
"""A parser gives up after the line that led it astray, seldom far."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What it is, at which line and column (from 1), and what to do."""

    line: int
    column: int
    what: str
    fix: str


_LFS = "version https://git-lfs.github.com/spec/"
_LFS_FIX = (
    "Keep specs out of Git LFS, whose files Kedge does not fetch: take their pattern out of .gitattributes "
    "(`git lfs untrack`), and commit the files themselves."
)
_CONFLICT = (re.compile(r"^<<<<<<<( |$)", re.M), re.compile(r"^=======\r?$", re.M), re.compile(r"^>>>>>>>( |$)", re.M))
_PAGE = re.compile(r"\s*(<!doctype html|<html\b|<\?xml\b)", re.I)
_TEMPLATE = re.compile(r"\{\{|\{%")
_MAGIC = (
    (b"\x1f\x8b", "a gzip archive", "Unpack it."),
    (b"PK\x03\x04", "a zip archive", "Unpack it."),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "Unpack it."),
    (b"\x00GITCRYPT\x00", "a file encrypted by git-crypt", "Keep specs unencrypted: they hold no secrets."),
    (b"\xff\xfe", "UTF-16 text, as PowerShell's `>` writes it", "Save the file as UTF-8."),
    (b"\xfe\xff", "UTF-16 text", "Save the file as UTF-8."),
)
_CERTIFICATES = re.compile(
    r"\s*(-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+", re.ASCII
)
_QUOTES = {"\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u201a": "\u2018", "\u00ab": "\u00bb"}
"""Typographic quotes by those that end them."""


def recognised_bytes(content: bytes) -> Recognised | None:
    """What bytes that are no UTF-8 text are; None where that cannot be told."""
    for magic, what, fix in _MAGIC:
        if content.startswith(magic):
            return Recognised(1, 1, f"this is {what}", fix)
    if b"\0" in content:
        return Recognised(1, 1, "this is not text but a binary file", "Name the file of the spec.")
    return None


def recognised_text(text: str) -> Recognised | None:
    """What the whole text is instead of a spec; None where it may be one."""
    text = text.removeprefix("\ufeff")
    if text.startswith(_LFS):
        return Recognised(1, 1, "this is a pointer of Git LFS, not the file", _LFS_FIX)
    if _PAGE.match(text):
        what = "this is a page of the web or XML, not the file"
        return Recognised(1, 1, what, "Download the file itself: an address of a forge leads to a page about it.")
    begins, middle, ends = (mark.search(text) for mark in _CONFLICT)
    if begins and middle and ends and begins.start() < middle.start():
        first, last = (text.count("\n", 0, mark.start()) + 1 for mark in (begins, ends))
        what = f"a merge conflict is left in the file, lines {first} to {last}"
        return Recognised(first, 1, what, "Keep what is meant of the two sides, and remove the marks.")
    return None


def why_not_yaml(text: str, line: int) -> Recognised | None:
    """What led a parser astray that gave up at that line; None where its own words are the best there are."""
    lines = text.removeprefix("\ufeff").splitlines()
    for number in range(min(line, len(lines)), max(0, line - LINES_LOOKED_BACK), -1):
        odd = _odd_in(lines[number - 1], number)
        if odd is not None:
            return odd
    return None


def _odd_in(text: str, line: int) -> Recognised | None:
    if text.lstrip().startswith("#"):
        return None
    for column, character in enumerate(text, 1):
        if _is_pasted(character):
            return Recognised(line, column, f"here stands {named(character)}", _fix_of(character))
    indent = text[: len(text) - len(text.lstrip())]
    if "\t" in indent:
        return Recognised(
            line, indent.index("\t") + 1, "a tab indents this line", "Indent by blanks: YAML takes no tab."
        )
    found = _TEMPLATE.search(text)
    if found is not None:
        what = "this is a template, not what it renders to"
        return Recognised(line, found.start() + 1, what, "Render it first, and give Kedge what comes out.")
    return None


def why_not_printable(text: str) -> tuple[str, str]:
    """The first character of a value that is not to stand there, in words, and what to do."""
    character = next(c for c in text if not c.isprintable())
    if _is_pasted(character):
        return f"the text holds {named(character)}", _fix_of(character)
    return "the text holds a line break or another invisible character", "Write it on one line, without escapes."


def folded_certificates(text: str) -> str:
    """Certificates in PEM on one line, with blanks for line breaks; any other text as it is. They are the one value
    that people have in lines."""
    return " ".join(text.split()) if _CERTIFICATES.fullmatch(text) else text


def typographic_quotes(text: str) -> str | None:
    """The quotes around a plain value that YAML takes for a part of it; None where there are none."""
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        return f"{text[0]} {text[-1]}"
    return None


def _is_pasted(character: str) -> bool:
    """Whether it comes along where text is copied: blanks that are none, and what marks places between letters."""
    return not character.isprintable() and (unicodedata.category(character) == "Zs" or character in _UNSEEN)


def named(character: str) -> str:
    """The character by number and name, as in `U+00A0 (NO-BREAK SPACE)`, and what it looks like."""
    name = unicodedata.name(character, "")
    what = "a blank that is none" if unicodedata.category(character) == "Zs" else "a character nobody sees"
    return f"{what}, U+{ord(character):04X}{f' ({name})' if name else ''}"


def _fix_of(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return "Type a plain blank in its place: text copied from web pages and documents has such."
    return "Remove it: text copied from web pages and documents has such."
