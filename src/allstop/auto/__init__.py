"""Full Auto: keeps one agent's thread running, with a decision after each turn. Pure."""
