"""A hand-written loop of two agents that saves every turn to SQLite, without brakes."""

import json
import sqlite3
import sys
import time
from pathlib import Path

REPLY = json.dumps({"message": "word " * 112, "handoff": {"to": "other", "task": "go on"}})


def main(turns, folder):
    db = sqlite3.connect(Path(folder) / "room.db", isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("create table items (id integer primary key, who text, text text)")
    transcript = []
    wall, cpu = time.perf_counter(), time.process_time()
    for turn in range(turns):
        who = ("gpt", "claude")[turn % 2]
        "\n".join(["goal", *transcript[-8:], f"Round: {turn}"])
        message = json.loads(REPLY)["message"]
        transcript.append(f"{who}: {message}")
        db.execute("insert into items (who, text) values (?, ?)", (who, message))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = sum(file.stat().st_size for file in Path(folder).glob("room.db*"))
    print(
        json.dumps({"cpu_ms": cpu / turns * 1e3, "per_s": turns / wall, "kb": size / turns / 1e3})
    )


main(int(sys.argv[1]), sys.argv[2])
