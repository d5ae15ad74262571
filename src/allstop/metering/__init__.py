"""Measures and bounds the model calls of boxed agents; pure. `adapters/gateway` does the I/O."""
