"""Users of a cluster: what is to be done about them."""
