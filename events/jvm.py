"""What the Java of a service is started with as far as people decide it: a heap, and options beside it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Jvm:
    """`heap_mib` is the Java heap in MiB, 0 where nobody asks; `options` are those of the spec, in its order."""

    heap_mib: int = 0
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JvmChange:
    """Another heap, other options, or both: 0 and None are what stays as it is."""

    heap_mib: int = 0
    options: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.heap_mib) or self.options is not None

    def of(self, before: Jvm) -> Jvm:
        """What it makes of `before`."""
        return Jvm(self.heap_mib or before.heap_mib, before.options if self.options is None else self.options)

    def then(self, later: "JvmChange") -> "JvmChange":
        """Both, one after the other."""
        return JvmChange(later.heap_mib or self.heap_mib, self.options if later.options is None else later.options)

    def words(self, before: Jvm) -> str:
        """`heap 256 -> 512 MiB, JVM option -XX:+UseZGC added`; "" where nothing changes."""
        said = [f"heap {before.heap_mib} -> {self.heap_mib} MiB"] if self.heap_mib else []
        return ", ".join([*said, *_option_words(before.options, self.options)])


AS_BEFORE = JvmChange()
UNKNOWN_JVM = Jvm()


def jvm_change(have: Jvm, want: Jvm) -> JvmChange:
    """From one to the other; a heap of 0 is nobody's wish."""
    heap_mib = want.heap_mib if want.heap_mib not in (0, have.heap_mib) else 0
    return JvmChange(heap_mib, None if have.options == want.options else want.options)


def _option_words(before: tuple[str, ...], after: tuple[str, ...] | None) -> list[str]:
    if after is None:
        return []
    added, gone = [o for o in after if o not in before], [o for o in before if o not in after]
    if not added and not gone:
        return ["JVM options in another order"]
    words = [f"JVM option {', '.join(added)} added"] if added else []
    return [*words, *([f"JVM option {', '.join(gone)} removed"] if gone else [])]
