"""Consumer groups: looked at on demand, watched at a slow pace, told to people. Nothing is done about them."""
