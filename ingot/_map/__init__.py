"""Runs of many asks: `ask.map`."""
