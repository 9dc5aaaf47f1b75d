"""Models as files that other runtimes load."""
