"""The rungs about TLS between nodes."""

from controlplane.converger.ladder.rung import Begins, Phase, Rung
from controlplane.converger.steps.running.certificates import certificate_step
from controlplane.converger.steps.running.restarts import urgent_restart_step
from controlplane.converger.steps.running.security_steps import security_step

CERTIFICATE_RUNG = Rung(
    certificate_step,
    Phase.NEXT,
    "whose certificate is old, or of a CA that is replaced: who is to be started anew for it, phase by phase",
    why="only says who is to be started anew; that waits, unless a certificate ends soon",
    more="[TLS](kafka-certificates.md)",
)

RENEWAL_RUNG = Rung(
    urgent_restart_step,
    Phase.NEXT,
    "services whose certificates end soon: started anew before the roll in hand begins with its next node",
    why="certificates that end soon wait for no window",
    more="[TLS](kafka-certificates.md)",
)

SECURITY_RUNG = Rung(
    security_step,
    Phase.NEXT,
    "the way of a living cluster from plaintext to TLS between its nodes, or back: its next step, and its end",
    why="every service is restarted for it, three times",
    more="[security](kafka-listeners.md#from-plaintext-to-tls)",
    begins=Begins.VOLUNTARY,
    of_spec=True,
)
