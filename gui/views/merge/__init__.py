"""When somebody saved first: the prompt and the resolver."""
