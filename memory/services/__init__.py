"""Services of the memory: everything that it does with the database."""
