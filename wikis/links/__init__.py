"""Links between pages: found in their text, resolved to pages, rewritten when pages move."""
