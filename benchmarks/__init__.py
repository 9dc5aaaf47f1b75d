"""Where every speed figure of the README comes from: `python -m benchmarks`."""
