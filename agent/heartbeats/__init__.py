"""Health as clients see it: small records sent through brokers of the next rack, and read back."""
