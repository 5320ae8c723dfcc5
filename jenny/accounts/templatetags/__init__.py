"""Tags that every template may use."""
