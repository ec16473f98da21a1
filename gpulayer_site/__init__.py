"""The composition root: settings, addresses, the launcher and the command line. It knows everyone; nobody knows it."""

__version__ = "0.1.0"
