"""The only package that imports pyspark: it meets Spark, and hands plain data to the rest."""
