"""Freezes that people declare: kept as events of the fleet, in force beside those of the settings."""
