"""Starts that wait for a person's approval, because `[loop] auto_execute` is off."""
