"""TLS between a program and its journal's database: a real server with a certificate of its own."""

import os
import subprocess
import sys
import time

import pytest
from psycopg.conninfo import conninfo_to_dict

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.postgres_connection import conninfo
from allstop.core.commands import Say
from allstop.core.events import Commanded
from allstop.ports import Entry, Holder, StoreBrokenError
from support.cases import for_each
from support.person import at_home
from support.postgres import PASSWORD
from support.postgres_fixtures import own_postgres
from support.process_fixtures import asyncio_backend
from support.tls_site import make_certificates

__all__ = ["asyncio_backend", "own_postgres"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def address(own_postgres, tmp_path):
    """The address of a server that only takes connections with TLS, by its name."""
    authority, certificate, key = make_certificates(tmp_path / "tls", "localhost")
    own_postgres.use_tls(certificate, key)
    url = own_postgres.tcp_url(own_postgres.new_database()).replace("127.0.0.1", "localhost")
    return f"{url}?sslrootcert={authority}"


@pytest.fixture
def opened(tmp_path):
    journals = []

    def journal(url):
        own = Holder(pid=os.getpid(), host="here", command="test", since=SystemClock().now())
        made = PostgresJournal(url, tmp_path, SystemClock(), own=own)
        journals.append(made)
        return made

    yield journal
    for each in journals:
        each.close()


async def test_z10_the_journal_is_written_by_tls_to_the_server_with_the_right_certificate(
    address, opened, own_postgres
):
    journal = opened(f"{address}&sslmode=verify-full")
    await journal.append(Entry("a", Commanded(at=SystemClock().now(), command=Say(text="by TLS"))))

    assert len(await journal.read("a")) == 1
    ciphers = "select count(*) from pg_stat_ssl s join pg_stat_activity using (pid)"
    ciphers += " where application_name = 'allstop'"
    encrypted = own_postgres.execute(f"{ciphers} and s.ssl")
    assert int(encrypted) > 0
    assert encrypted == own_postgres.execute(ciphers)


async def test_z10_a_server_with_another_certificate_is_refused(address, opened, tmp_path):
    wrong, _, _ = make_certificates(tmp_path / "other", "localhost")
    known = address.rpartition("=")[0]
    cases = {
        "another authority": f"{known}={wrong}&sslmode=verify-full",
        "another name": f"{address}&sslmode=verify-full".replace("localhost", "127.0.0.1"),
        "no TLS": f"{address}&sslmode=disable",
    }

    for case, url in cases.items():
        with pytest.raises(StoreBrokenError) as refused:
            await opened(url).read("a")
        assert refused.value.code == "store_refused", case
        assert PASSWORD not in str(refused.value)


async def test_z10_a_server_on_another_machine_is_never_used_without_tls(own_postgres, opened):
    url = own_postgres.tcp_url(own_postgres.new_database())
    named = url.replace("127.0.0.1", "db.example.invalid") + "?hostaddr=127.0.0.1"

    assert "sslmode" not in conninfo_to_dict(conninfo(named))  # it is this machine
    with pytest.raises(StoreBrokenError) as refused:
        await opened(f"{url}?sslmode=require").read("a")
    assert "sslmode=disable" in refused.value.hint


@for_each(
    "url, mode",
    lambda: [
        ("postgresql://me@db.example.com/x", "require"),
        ("postgresql://me@10.1.2.3/x", "require"),
        ("postgresql://me@localhost,db.example.com/x", "require"),
        ("postgresql://me@db.example.com/x?sslmode=verify-full", "verify-full"),
        ("postgresql://me@db.example.com/x?sslmode=disable", "disable"),
        ("postgresql://me@localhost/x", None),
        ("postgresql://me@[::1]/x", None),
        ("postgresql://me@127.0.0.1/x", None),
        ("postgresql:///x?host=/run/postgresql", None),
        ("postgresql:///x", None),
    ],
)
def test_z10_another_machine_needs_tls_unless_the_address_says_otherwise(url, mode):
    assert conninfo_to_dict(conninfo(url)).get("sslmode") == mode


SPY = """
for process in /proc/[0-9]*; do
    tr '\\0' '\\n' < $process/cmdline; tr '\\0' '\\n' < $process/environ
done 2>/dev/null > seen.txt
cat ~/.pgpass ~/.config/allstop/config.toml >> seen.txt 2>&1
echo '<promise>COMPLETE</promise>'
"""
OWN_PASSWORD = "only of this test 7f31"


def test_z10_the_password_is_on_no_command_line_and_in_no_box(tmp_path, own_postgres):
    """A box sees its own processes; the test sees those of the whole machine."""
    person = at_home(tmp_path)
    own_postgres.execute(f"create role own superuser login password '{OWN_PASSWORD}'")
    url = own_postgres.tcp_url(own_postgres.new_database(), "own", OWN_PASSWORD)
    secret = url.partition("@")[0].rpartition(":")[2]
    person.variables |= {"ALLSTOP_STORE_URL": url, "PGPASSWORD": OWN_PASSWORD}
    (person.home / ".pgpass").write_text(f"*:*:*:*:{OWN_PASSWORD}\n")
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f"[store]\nurl = '{url}'\n")
    person.agent(SPY)
    person.commit()
    person.allstop("add", "Look around", "--id", "T1")
    running = subprocess.Popen(
        [sys.executable, "-m", "allstop", "run"],
        cwd=person.repository,
        env=person.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = set()
    while running.poll() is None:
        lines |= set(_command_lines())
        time.sleep(0.01)
    output = running.communicate()[0]

    assert running.returncode == 0, output
    assert any("-m\0allstop" in line for line in lines)
    seen = person.git("show", "main:seen.txt")
    logs = [p.read_bytes().decode(errors="replace") for p in (person.repository / ".allstop").rglob("*")
            if p.is_file()]  # fmt: skip
    for text in (seen, output, *lines, *logs):
        assert secret not in text
        assert OWN_PASSWORD not in text


def _command_lines():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    yield file.read().decode(errors="replace")
            except OSError:
                continue
