"""Game days: faults drawn by a seed, brought about one after the other, and what came of each."""
