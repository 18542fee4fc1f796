"""What Podman accepts: keys by version, encoders, and the unit files made of them."""
