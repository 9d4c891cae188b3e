"""What migration may use of each broker's volumes: the third resource of a plan, beside network in and network out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Volumes:
    """float64[B] each, bytes/s, inf where no limit is known.

    `write`, `read`: what copies may write to and read from the volumes. `io`: what both may be together. `network_in`,
    `network_out`: what migration may use of the network; the state's own bandwidths are then within both, so that what
    a broker takes and gives at once never passes `io`.
    """

    write: Floats
    read: Floats
    io: Floats
    network_in: Floats
    network_out: Floats

    @property
    def most_in(self) -> Floats:
        """What a broker could take if it gave nothing."""
        return np.minimum(self.network_in, np.minimum(self.write, self.io))

    @property
    def most_out(self) -> Floats:
        """What a broker could give if it took nothing."""
        return np.minimum(self.network_out, np.minimum(self.read, self.io))
