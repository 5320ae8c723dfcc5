"""What the file browser knows, without the web: kinds of files, what is listed, what is shown."""
