"""The image catalogue: what was published, which revision a cluster is to be on, and who still has to roll."""
