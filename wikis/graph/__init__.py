"""The graph of pages and their links: laid out and drawn on the server, without script."""
