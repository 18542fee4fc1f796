"""The commands that units run, each with exactly the imports that it needs."""
