"""Backward and forward over association tables: pure, no Spark. Works on a running session and on a saved one alike."""
