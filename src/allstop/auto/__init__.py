"""Full Auto: one agent thread, driven decision by decision. Pure."""
