"""What the user writes: the spec's models, and how a file becomes one."""
