"""Management commands of the settings."""
