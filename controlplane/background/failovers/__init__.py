"""Carries pairs of clusters on: looks at what is there of each, and records the next step."""
