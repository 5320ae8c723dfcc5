"""Files of people: their type by content, their text page by page, and pictures for a model."""
