"""How fast the core decides, and in how much memory: `python -m benchmarks`."""
