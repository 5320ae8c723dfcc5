"""The wikis' pages, by what they do."""
