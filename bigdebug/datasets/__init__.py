"""Which data feeds which: entities and processes of everything a session does (SAC), and the columns of each (pure; its Spark half is in spark/)."""
