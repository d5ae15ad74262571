"""Takes the first error out of nested exception groups."""


def first_error(group: ExceptionGroup) -> Exception:
    """The innermost first error, for callers that don't handle exception groups."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
