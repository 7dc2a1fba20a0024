"""What people type: a few commands a file, each file with ``register(app)``."""
