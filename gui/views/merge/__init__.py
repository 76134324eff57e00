"""When somebody was faster: the prompt and the resolver."""
