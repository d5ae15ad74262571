"""What people see of any run, computed from its record. Pure."""
