"""Recordings: an exchange is recorded once and replayed for ever."""
