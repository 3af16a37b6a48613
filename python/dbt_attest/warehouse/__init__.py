"""The evidence warehouse: its tables, recording into it, and building the resolvers in it."""
