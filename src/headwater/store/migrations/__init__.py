"""The one migration tree of the store, for all databases."""
