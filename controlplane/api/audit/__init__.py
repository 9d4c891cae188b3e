"""Who did what, and who was refused: kept in a table that only grows, each row holding the hash of the one before."""
