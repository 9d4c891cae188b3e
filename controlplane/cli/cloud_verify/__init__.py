"""`kedge cloud verify`: a whole life of a small cluster at a cloud, by a running server, and nothing left of it."""
