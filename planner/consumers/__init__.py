"""Consumer groups: what brokers say of them, and what that means. Pure."""
