"""Wrong results of queries: which source rows make rows wrong, what they have in common, and the query without them (DESIGN 4.4)."""
