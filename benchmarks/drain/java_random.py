"""`java.util.Random` in numpy: the 48-bit linear congruential generator, as the Java documentation fixes it."""

import numpy as np
import numpy.typing as npt

from planner.drain.model.state import Floats, Int64s

MULTIPLIER, INCREMENT, MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


def first_int(seeds: npt.ArrayLike, bound: int) -> Int64s:
    """int64: what `new Random(seed).nextInt(bound)` gives for each seed, in [0, bound)."""
    state = _scrambled(np.asarray(seeds, dtype=np.int64))
    state, bits = _next(state, 31)
    if bound & (bound - 1) == 0:
        power: Int64s = (bound * bits) >> 31
        return power
    value = bits % bound
    while (again := bits - value + (bound - 1) >= 2**31).any():  # nextInt rejects the incomplete last block
        state[again], bits[again] = _next(state[again], 31)
        value[again] = bits[again] % bound
    drawn: Int64s = value
    return drawn


def doubles(seed: int, count: int) -> Floats:
    """float64[count]: the stream of `nextDouble()` of one generator, in [0, 1)."""
    states = _stream(seed, 2 * count)
    high, low = states[0::2] >> 22, states[1::2] >> 21
    drawn: Floats = ((high << 27) + low) * 2.0**-53
    return drawn


def _stream(seed: int, count: int) -> Int64s:
    """The first `count` states of one generator, doubled block by block: n steps at once are one affine step."""
    states = np.empty(max(count, 1), dtype=np.int64)
    states[0] = (((seed ^ MULTIPLIER) & MASK) * MULTIPLIER + INCREMENT) & MASK
    done, multiplier, increment = 1, MULTIPLIER, INCREMENT
    while done < count:
        block = states[: min(done, count - done)]
        states[done : done + block.size] = _affine(block, multiplier, increment)
        done += block.size
        multiplier, increment = multiplier * multiplier & MASK, (multiplier * increment + increment) & MASK
    return states[:count]


def _scrambled(seeds: Int64s) -> Int64s:
    state: Int64s = (seeds ^ MULTIPLIER) & MASK
    return state


def _next(state: Int64s, bits: int) -> tuple[Int64s, Int64s]:
    state = _affine(state, MULTIPLIER, INCREMENT)
    return state, state >> (48 - bits)


def _affine(state: Int64s, multiplier: int, increment: int) -> Int64s:
    """The product wraps modulo 2**64, of which the low 48 bits are right."""
    with np.errstate(over="ignore"):
        wrapped: Int64s = (state * np.int64(multiplier) + np.int64(increment)) & np.int64(MASK)
    return wrapped
