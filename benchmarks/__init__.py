"""What bigdebug costs and how fast it answers, measured against plain PySpark in the same session.

``python -m benchmarks P1`` runs one measure; ``python -m benchmarks --help`` lists them. Nothing here is installed.
"""
