"""The agent: finds out what a GPU host has, runs what the server gives it, and reports. No Django here."""

VERSION = "0.1.0"
PROTOCOL = (1,)
"""The versions of the agent protocol that this agent speaks."""
