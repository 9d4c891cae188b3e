"""What brokers tell of the copy between two clusters of a pair, and what is written for it."""
