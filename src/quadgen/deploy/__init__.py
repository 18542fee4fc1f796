"""Bringing unit files to the user's Quadlet folder, and taking them away."""
