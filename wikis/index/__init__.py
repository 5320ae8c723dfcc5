"""What is known of all pages: kept by file stamp, and made again when it is lost."""
