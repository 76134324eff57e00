"""The server behind the driver: reads, single guarded writes, what errors mean, how writes are retried."""
