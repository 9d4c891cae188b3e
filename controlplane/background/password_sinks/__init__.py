"""Passwords of users, written to where the settings say."""
