"""Agents are upgraded where they are: what was published, which VM is asked next, and what came of it."""
