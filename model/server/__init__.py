"""The server behind the driver: reads, single guarded writes, the meaning of errors, retries."""
