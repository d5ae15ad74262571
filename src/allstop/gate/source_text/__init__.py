"""What the text of sources tells: tests in it, their assertions, names that it defines. Pure."""
