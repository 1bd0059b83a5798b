"""Fault localization: which records make outputs wrong. Pure; what runs a program is given as an oracle."""
