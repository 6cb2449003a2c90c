"""Measures the server: its start, its memory, its cost per request. `python -m benchmarks` runs everything."""
