"""The engine: drives runs, performs their moves and enforces budgets, slots and deadlines."""
