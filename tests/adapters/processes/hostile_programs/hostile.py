"""A program whose children do what they can to live on. Each beats into a file of its own.

hostile.py KIND[,KIND…] TOKEN: says "ready" when all of them beat; ends at a line of input.
The token is in every command line, so that survivors can be found.
"""

import os
import signal
import sys
import time

BEAT_S = 0.002


def beat(kind):
    with open(f"beat-{kind}", "ab", buffering=0) as file:
        file.write(b".")


def beat_on(kind):
    while True:
        beat(kind)
        time.sleep(BEAT_S)


def child(work):
    if os.fork() == 0:
        try:
            work()
        finally:
            os._exit(0)


def daemon(work):
    def middle():
        os.setsid()
        child(work)

    child(middle)


def let_go_of_pipes():
    nowhere = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(nowhere, end)


def plain():
    child(lambda: beat_on("plain"))


def ignorer():
    def work():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        beat_on("ignorer")

    child(work)


def session():
    def work():
        os.setsid()
        beat_on("session")

    child(work)


def daemonized():
    def work():
        let_go_of_pipes()
        beat_on("daemonized")

    daemon(work)


def scrubbed():
    def work():
        let_go_of_pipes()
        script = "while :; do printf . >>beat-scrubbed; /bin/sleep 0.002; done"
        os.execve("/bin/sh", ["sh", "-c", script, TOKEN], {})

    daemon(work)


def chain():
    """Every millisecond another process in another session."""

    def work():
        let_go_of_pipes()
        while True:
            beat("chain")
            time.sleep(0.001)
            if os.fork():
                os._exit(0)
            os.setsid()

    daemon(work)


def guards():
    """Two that start each other again."""

    def guard(other):
        while True:
            beat("guards")
            time.sleep(BEAT_S)
            try:
                os.kill(other, 0)
            except ProcessLookupError:
                me = os.getpid()
                pid = os.fork()
                if pid == 0:
                    os.setsid()
                    other = me
                else:
                    other = pid

    def work():
        let_go_of_pipes()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.setsid()
        guard(pid or me)

    daemon(work)


KINDS = {
    "plain": plain,
    "ignorer": ignorer,
    "session": session,
    "daemonized": daemonized,
    "scrubbed": scrubbed,
    "chain": chain,
    "guards": guards,
}
TOKEN = sys.argv[2]


def main():
    kinds = sys.argv[1].split(",")
    for kind in kinds:
        KINDS[kind]()
    while not all(os.path.exists(f"beat-{kind}") for kind in kinds):
        time.sleep(0.001)
    print("ready", flush=True)
    sys.stdin.readline()


main()
