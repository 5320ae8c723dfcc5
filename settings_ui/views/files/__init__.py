"""The file browser's pages, by what they do."""
