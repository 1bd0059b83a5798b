"""What is unusual in a run, and what its bad records have in common: pure, no Spark. Takes counts and records, answers ranked lists."""
