"""Wrong results of RDD programs: which source records make outputs wrong, what they have in common, and the program without them (DESIGN 4.4)."""
