"""The cluster and the plan as arrays: the one language of planner, bounds, replay and Spark."""
