"""Provenance graphs of any workflow: triples of data-items, indexes built out of core, questions answered from them."""
