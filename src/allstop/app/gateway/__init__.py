"""Wires the gateway: which agents use it, with which address and key, and what people see of it."""
