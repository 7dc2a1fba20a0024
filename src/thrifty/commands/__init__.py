"""One file per command, each with ``register(app)``; the work itself lives in the library."""
