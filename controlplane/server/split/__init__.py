"""Loop and portal as processes of their own, which meet in the database alone."""
