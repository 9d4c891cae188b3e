"""Anomalies of clusters: found in what is recorded and seen, kept with their history, healed where that is allowed."""
