"""Steps about users."""
