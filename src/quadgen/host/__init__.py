"""What the machine has: Podman, systemd, cgroup controllers, CDI devices."""
