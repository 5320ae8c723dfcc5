"""Settings pages, one module each."""
