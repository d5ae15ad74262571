"""The board on the control room's screenshots: the sample board with more content."""

from support.person import at_home, wait_for
from support.sample_board import FIRST, GOAL, LATER, LONG, SCRIPT, SETTINGS, TALK, SampleBoard

BEFORE = """from store import users


def limits(key):
    return 60
"""
SCRIPTED = """
[[turn]]
when = "Explain rate limits"
steps = [
  { write = "LIMITS.md", text = "# Rate limits\\n\\n60 requests a minute for each key.\\n" },
  { write = "limits.py", text = '''
from store import keys, users

A_MINUTE = 60


def limits(key):
    # Requests a minute; a key may have a limit of its own.
    own = keys.get(key)
    if own is not None:
        return own.limit
    return A_MINUTE
''' },
  { use = { input = 12800, output = 640, cost_microusd = 98000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Paginate the audit log"
steps = [
  { say = "I page the query first." },
  { write = "audit.py", text = "PAGE = 50\\n" },
  { use = { input = 21000, output = 1400, cost_microusd = 230000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Paginate the audit log"
steps = [
  { use = { input = 24000, output = 900, cost_microusd = 90000 } },
  { signal = "PROGRESS: 60% the query is paged, the view is next" },
]

[[turn]]
when = "Paginate the audit log"
steps = [
  { say = '''
The query is paged, and the size of a page is **one constant**.

Now the view keeps the cursor in the address, so that a reload shows the same rows:

- `audit.py` reads one row more than it shows
- the view offers the next page only if there is one
''' },
  { sleep = 600 },
]
"""
BUDGET = """
[budget]
turns = 12
tokens = 150_000
cost_usd = 1.0
minutes = 60
"""
CHECK = """
if [ -e audit.py ]; then
  echo 'test_audit.py ...........F'
  echo 'E   assert len(rows) == 51'
  echo '1 failed, 11 passed'
  exit 1
fi
sleep 0.2; echo '12 passed'
"""
UNFINISHED = """
[[turn]]
steps = [
  { say = '{"message": "Agreed. Then it is **one line**: who did what, when, and from where' },
  { sleep = 600 },
]
"""


def new_repository(place):
    """A repository without settings, with an open control room."""
    scene = SampleBoard(at_home(place))
    scene.open()
    return scene


def picture_board(place):
    """A board with a failed gate, a change to comment on, and a running room."""
    scene = SampleBoard(at_home(place))
    person = scene.person
    person.write("limits.py", BEFORE)
    scene.prepare()
    others = SCRIPT.replace('when = "Explain', 'when = "(no) ').replace(
        'when = "Paginate', 'when = "(no) '
    )
    # The thread and the talk have their turns beside the two tasks.
    settings = SETTINGS.replace("max_parallel = 2", "max_parallel = 4") + BUDGET
    person.script(SCRIPTED + others, settings)
    person.write("check.sh", CHECK)
    said = "**Who did what, and when**, for as long as the law wants it."
    person.write("gpt.toml", TALK % (said, "claude", "Shorter.") + UNFINISHED)
    person.commit("more to look at")
    person.allstop("trust", "--yes")
    scene.open()
    scene.think()
    scene.add(*FIRST, priority=9)
    scene.add(*LONG, priority=5)
    task = scene.id_of("Paginate the audit log")
    for title, tag, operation in LATER:
        more = {"title": title, "tags": [tag], "operation": operation, "agent": "demo"}
        scene.tell("board", "add_task", needs=[task], **more)
    scene.work()
    wait_for(lambda: _has(scene, f"/runs/{task}/live", "one constant"), "words of its agent", 180)
    scene.post("/runs", {"kind": "room", "goal": GOAL, "max_rounds": 6})
    wait_for(lambda: _has(scene, "/runs/room:default/live", "from where"), "words of a talk", 180)
    return scene


def _has(scene, path, words):
    return any(words in each["text"] for each in scene.ask(path)["words"])
