"""Exit codes. Scripts build on them: a number keeps its meaning for ever, and docs/cli.md lists them all."""

OK = 0
FAILED = 1
"""Refused, invalid, or the server could not be asked."""
DIFFERS = 1
"""`diff`: the file differs from what is declared (the custom of kubectl, flux and argocd)."""
DIFF_FAILED = 2
"""`diff`: it could not be told."""
CHANGES = 2
"""`plan --detailed-exitcode`: applying would change something (the custom of terraform)."""
TIMED_OUT = 3
"""`wait`, `apply --wait`, `failover --wait`: the time was up before the goal was reached; the server goes on."""
BLOCKED = 4
"""`wait`, `apply --wait`, `failover --wait`: the goal cannot be reached before a person does something."""
VULNERABLE = 5
"""`images scan`: something in the image is vulnerable."""
NOT_COVERED = 6
"""`images scan`: nothing is known to be vulnerable, and not everything is known."""
USAGE = 64
"""The command line itself is wrong (EX_USAGE of sysexits.h): never to be taken for `CHANGES`."""
INTERRUPTED = 130
"""Ctrl-C, also when it only detached from a wait: the goal was not seen reached."""
