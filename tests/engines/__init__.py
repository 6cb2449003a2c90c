"""Real query engines for tests, each in processes of its own."""

from tests.engines.spark import SparkError, SparkSession, spark

__all__ = ["SparkError", "SparkSession", "spark"]
