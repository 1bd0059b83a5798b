"""Watches: what a running task tells the driver of the records that pass, as it was asked to (BigDebug 4.2, 4.4)."""
