"""The names of clusters and nodes, kept in DNS zones that the settings give to this installation."""
