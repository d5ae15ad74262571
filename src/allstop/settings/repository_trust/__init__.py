"""Repository trust: sensitive settings of a repository need a person's acceptance."""
