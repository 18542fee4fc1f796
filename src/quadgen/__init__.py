"""Run `vllm serve` as rootless systemd services: one TOML file in, checked Quadlet units out."""

__version__ = "0.1.0"
