"""What may be declared here, by whom it must be seen first: files in the server's home."""
