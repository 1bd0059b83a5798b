"""The command line: ``bigdebug datasets upstream orders``, ``bigdebug trace DIR RUN --output 3``. Tables for a person, JSON for a program; errors on stderr; needs no Spark."""

from bigdebug.cli.datasets import QUESTIONS
from bigdebug.cli.main import main

__all__ = ["QUESTIONS", "main"]
