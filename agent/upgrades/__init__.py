"""The agent's own upgrade: fetched, judged by its signature, tried under an alarm, and taken back by itself."""
