"""A lifetime over HTTP, on this machine: rows are answered, and asked about, one at a time."""
