"""Tasks that begin side by side and end one after the other, however busy the machine is."""

from support.person import wait_for

WAITS = (
    "[ -e .git/went ] || "
    "{ touch waits; until [ -e go ]; do sleep 0.05; done; rm waits go; touch .git/went; };"
)
"""What an agent does before its first work: it waits in its workspace until it may go on."""


def run_in_turn(person, *goals):
    """Run tasks whose agents wait; each goes on when those before it are merged.

    Returns what `allstop run` prints, and its exit code.
    """
    process = person.start("run", *goals)
    names = [f"T{number}" for number in range(1, len(goals) + 1)]
    trees = [person.repository / ".allstop" / "workspaces" / name / "tree" for name in names]
    for name, tree in zip(names, trees, strict=True):
        wait_for((tree / "waits").exists, f"{name} to begin")
    for number, tree in enumerate(trees):
        wait_for(lambda done=names[:number]: person.merged() == done, "the merges before it")
        (tree / "go").touch()
    said, _ = process.communicate(timeout=60)
    return said, process.returncode
