"""Spark's plans and expressions over the gateway: read, told what they mean, and made anew."""
