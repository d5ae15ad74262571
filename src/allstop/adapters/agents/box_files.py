"""Writes files inside a box before its program starts: the host never writes where an agent can."""

from collections.abc import Iterator, Mapping

_WRITE = (
    'while [ "$1" != -- ]; do mkdir -p "${1%/*}" && draft=$(mktemp "$1.XXXXXX") && '
    'printf %s "$2" >"$draft" && mv "$draft" "$1" || exit 1; shift 2; done; '
    'shift; exec "$@"'
)


def writing(files: Mapping[str, str], argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line that writes these files, named by absolute paths, and then runs `argv`."""
    if not files:
        return argv
    return ("sh", "-c", _WRITE, "sh", *_words(files), "--", *argv)


def _words(files: Mapping[str, str]) -> Iterator[str]:
    for path, text in files.items():
        yield from (path, text)
