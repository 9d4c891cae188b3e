"""Rules about the JVM options of a pool: what may not stand there, each with its reason.

Kedge starts Java without a shell, so nothing is expanded; characters of a shell are refused all the same, because they
never mean what they say there. What loads code, holds a secret, or would end the process before Kafka begins is refused
(Java: `java --help-extra`, the page of the `java` command), and so is what Kedge sets for each start by itself.
"""

import re
from collections.abc import Iterator

from events.spec import problems as p
from events.spec.model import Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem, shorten

MOST_CHARACTERS = 500

_HEAP = re.compile(
    r"-X(?:mx|ms)|-XX:(?:(?:Max|Min|Initial|SoftMax)HeapSize|(?:Max|Min|Initial)RAM(?:Percentage|Fraction)|MaxRAM)="
)
_CODE = re.compile(
    r"-javaagent|-agentlib|-agentpath|-Xrun|-Xdebug|-Xbootclasspath|-XX:(?:Flags|VMOptionsFile|OnError|OnOutOfMemoryError|"
    r"ArchiveClassesAtExit|SharedArchiveFile|SharedClassListFile|CompileCommandFile)\b|-D(?:java\.(?:library\.path|"
    r"class\.path|ext\.dirs|endorsed\.dirs|system\.class\.loader|security\.manager|security\.auth\.login\.config)|"
    r"jdk\.module\.\w+)\b"
)
_CLASS_PATH = re.compile(
    r"-(?:cp|classpath|jar|p|m)\b|--(?:class-path|module-path|module|patch-module|upgrade-module-path)\b"
)
_OWN = re.compile(
    r"-Xshare\b|-XX:[+-](?:ExitOnOutOfMemoryError|CrashOnOutOfMemoryError|UsePerfData|RequireSharedSpaces)\b|"
    r"-D(?:kedge\.|log4j|kafka\.logs\.dir\b|sun\.net\.httpserver\.nodelay\b|zookeeper\.DigestAuthenticationProvider)"
)
_SECRET = re.compile(r"-D[^=]*(?:password|passphrase|secret)", re.IGNORECASE)
_STRANGE = re.compile(r"[^A-Za-z0-9_.:,=+/%*@-]")
"""`*` is that of `-Xlog:gc*`, `%` that of `%p` and `%t` in names of files."""
_TAKEN = re.compile(
    r"-XX:(?:[+-]\w+|\w+=.+)|-D[^=]+(?:=.*)?|-X(?:log|ss|mn|int|comp|mixed|batch|rs|check|noclassgc|verify|future)\S*|"
    r"--(?:add-opens|add-exports|add-reads|enable-native-access|add-modules)=.+|-verbose:\w+|-server|-(?:ea|da|esa|dsa)\S*"
)
_COLLECTOR = re.compile(r"-XX:\+Use(?:Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC")
_NAME = re.compile(r"-XX:[+-]?(\w+)|-D([^=]+)|-X(?:ss|mn)")


def jvm_problems(index: int, pool: Pool, where: Positions) -> Iterator[Problem]:
    """Everything wrong with the options of one pool, which stands at `index` in the list. One problem an option."""
    path: Path = ("spec", "pools", index, "jvmOptions")
    seen: dict[str, str] = {}
    for at, option in enumerate(pool.jvm_options):
        found = _refusal(option) or _again(option, seen)
        if found is not None:
            why, fix = found
            yield where.problem(p.JVM_OPTION, (*path, at), f"pool `{pool.name}`: `{shorten(option)}` {why}", fix)
        else:
            seen.setdefault(_about(option), option)


def _refusal(option: str) -> tuple[str, str] | None:
    """Why an option is refused by itself, and what to do instead."""
    strange = _STRANGE.search(option)
    if not option.startswith("-"):
        return "does not begin with `-`, so Java would take it for the class to start", "Write one option an item."
    if len(option) > MOST_CHARACTERS:
        return f"has more than {MOST_CHARACTERS} characters", "Shorten it."
    if _HEAP.match(option):
        return "sets the heap, which `heapMib` does", "Write `heapMib`, or remove it: the machine decides then."
    if _CLASS_PATH.match(option):
        return "says what Java starts, which Kedge does", "Remove it."
    if _CODE.match(option):
        return "loads or runs what is not Kafka's", "Remove it; a build of your own belongs in an image."
    if _SECRET.match(option):
        return "holds a secret, and specs are read by many", "Remove it."
    if _OWN.match(option):
        return "is set by Kedge, which knows its processes and their ends by it", "Remove it."
    if strange is not None:
        what = "a blank" if strange[0].isspace() else f"`{strange[0]}`"
        return f"holds {what}, and no shell reads it", "Write one option an item, without quotes."
    if not _TAKEN.fullmatch(option):
        return (
            "is no option that a service is started with",
            "Use -XX:, -Xlog:, -Xss, -Xmn, -D or --add-opens=, or remove it.",
        )
    return None


def _again(option: str, seen: dict[str, str]) -> tuple[str, str] | None:
    other = seen.get(_about(option))
    if other is None:
        return None
    if _COLLECTOR.fullmatch(option) and other != option:
        return f"names a second collector beside `{shorten(other)}`: Java starts with one", "Keep one of the two."
    return f"says again what `{shorten(other)}` says: the last would count", "Keep one of the two."


def _about(option: str) -> str:
    """What an option is about; all collectors are about one thing, and `-Xlog` may stand several times."""
    if _COLLECTOR.fullmatch(option):
        return "collector"
    found = _NAME.match(option)
    return (found[1] or found[2] or found[0]) if found else option
