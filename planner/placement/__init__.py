"""Where replicas are beside where they may be: what breaks a rule, and the smallest move that mends it. Pure."""
