"""A board whose merge queue has a batch at its checks, a change that was thrown out, and others."""

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

SETTINGS = """
[loop]
max_parallel = 4

[review]
mode = "batch"

[[verification.commands]]
name = "Unit tests"
run = "sh check.sh"
timeout = 600
"""
CHECK = """
if [ -e limits.py ] && [ -e webhooks.py ]; then echo '1 failed'; exit 1; fi
if [ -e limits.py ] && [ -e sessions.py ]; then sleep 600; fi
echo '12 passed'
"""
FIRST = "Explain rate limits in the documentation"
OUT = "Retry webhooks that were not delivered"
BATCH = ("Move sessions to Redis", "Show when a key was last used")
LEFT_OUT = "Log in with a passkey"
WAITS = "Warn before a trial ends"
FILES = {
    FIRST: ("limits.py", "PER_MINUTE = 60"),
    OUT: ("webhooks.py", "TRIES = 5"),
    BATCH[0]: ("sessions.py", "STORE = 'redis'"),
    BATCH[1]: ("keys.py", "USED_AT = None"),
    LEFT_OUT: ("sessions.py", "PASSKEYS = True"),
    WAITS: ("trial.py", "DAYS = 3"),
}


def _script():
    turns = [
        f"[[turn]]\nwhen = {title!r}\nsteps = ["
        f'{{ write = "{file}", text = "{text}\\n" }}, {{ signal = "COMPLETE" }}]'
        for title, (file, text) in FILES.items()
    ]
    return "\n".join([*turns, f"[[turn]]\nwhen = {OUT!r}\nsteps = [{{ sleep = 600 }}]"])


class QueueBoard(SampleBoard):
    def prepare(self):
        self.person.script(_script(), SETTINGS)
        self.person.write("check.sh", CHECK)
        self.person.commit()
        self.person.allstop("trust", "--yes")

    def fill(self):
        self.open()
        for title in FILES:
            self.tell("board", "add_task", title=title, agent="demo")
        self.post("/runs", {"kind": "board"})
        wait_for(lambda: self.titles("review") == set(FILES), "work to review", 90)

    def approve(self, *titles):
        for title in titles:
            self.tell(self.id_of(title), "approve")

    def merge(self):
        """The first change lands, the next is thrown out, and three begin as a batch."""
        self.approve(FIRST)
        wait_for(lambda: FIRST in self.titles("done"), "it to be merged", 60)
        self.approve(OUT)
        wait_for(lambda: self.queue()["thrown_out"], "it to be thrown out", 60)
        self.tell("board", "pause")
        self.approve(*BATCH[:1], LEFT_OUT, *BATCH[1:])
        self.tell("board", "resume")
        wait_for(lambda: self._checks_run(), "the batch's checks", 60)
        self.approve(WAITS)

    def _checks_run(self):
        merge = self.queue()["merge"]
        return merge is not None and len(merge["changes"]) == 3 and merge["checks"]

    def queue(self):
        return self.ask("/queue")


def merging(place):
    """The board with its queue at work, for ever."""
    scene = QueueBoard(at_home(place))
    scene.prepare()
    scene.fill()
    scene.merge()
    return scene
