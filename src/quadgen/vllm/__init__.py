"""What vLLM accepts: options and their words, releases, known images."""
