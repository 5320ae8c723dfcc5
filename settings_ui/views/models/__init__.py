"""Settings → Models."""
