"""Commands print through functions that make text safe for a terminal."""

import ast

from project import project_files

PRINTS = {"click.echo", "click.secho", "sys.stdout", "sys.stderr", "rich.console.Console"} | {
    "rich.markup", "rich.text.Text", "click.style", "click.echo_via_pager",
}  # fmt: skip

ALLOWED = {
    "cli/output.py": {"click.echo", "click.style", "sys.stdout"},  # `echo`; after a broken pipe
    "glance.py": {"sys.stdout"},  # `write_text`
    "cli/safe_console.py": {"rich.console.Console", "rich.text.Text"},
    "cli/rooms/terminal.py": {"sys.stdout"},  # draws by itself; its own test renders it
    "cli/board/screen.py": {"sys.stdout"},  # asks whether it is a terminal
    "cli/rooms/room.py": {"sys.stdout"},  # asks whether it is a terminal
    "cli/board/review_queue.py": {"sys.stdout"},  # asks whether it is a terminal
    "cli/board/evidence.py": {"rich.text.Text"},  # colours of code; `test_evidence` checks it
    "adapters/agents/box_command.py": {"sys.stdout", "sys.stderr"},  # for an agent
    "adapters/gateway/escape_program.py": {"sys.stdout"},  # for the program that started it
    "testing/model_server/__main__.py": {"sys.stdout"},
}
"""The modules that may use these names, with all that they may use."""


def test_k22_commands_print_only_through_functions_that_make_text_safe():
    used = {}
    root = project_files.ROOT / "src/allstop"
    for file in project_files.below("src"):
        if file.suffix == ".py":
            name = str(file.relative_to(root))
            found = (PRINTS & _names(ast.parse(file.read_text()))) - ALLOWED.get(name, set())
            if found:
                used[name] = found

    assert used == {}, "print with allstop.cli.output.echo or a SafeConsole"


def _names(tree):
    """The qualified names that a module imports or uses."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names
