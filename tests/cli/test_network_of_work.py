"""G1, G10: what checks and the setup command of real runs reach, and what people are told."""

import pytest

from allstop.adapters.git.repository.repository import Repository
from allstop.app import target_gate
from allstop.app.agents.box import box
from allstop.app.project import Project
from allstop.ports import Network
from allstop.settings.sources.environment import Environment
from support.person import MERGE_AT_ONCE

NAMES_A_HOST = 'url = "https://{}/simple"\n'
WANTS = "git ls-remote https://{}/x.git"
ADD = 'could not be reached: add "{}" to hosts in [{}] of allstop.toml'


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def project(person):
    def project(text, **files):
        person.write("allstop.toml", text)
        for name, content in files.items():
            person.write(name.replace("__", "/").replace("_lock", ".lock"), content)
        person.commit()
        environment = Environment(home=person.home, variables=person.environment)
        return Project(person.repository, environment, {})

    return project


def check(host):
    return f'[[verification.commands]]\nname = "Install"\nrun = "{WANTS.format(host)}"\n'


def test_g1_a_check_reaches_what_the_targets_lock_file_names_and_not_what_the_work_names(person):
    """G1, G10: the work can't open the network for itself; the failure says what to add."""
    person.write("poetry.lock", NAMES_A_HOST.format("registry.example"))
    work = (
        "cat >prompt.txt\nprintf '%s' '" + NAMES_A_HOST.format("evil.example") + "' >poetry.lock\n"
    )
    ends = "echo '<promise>COMPLETE</promise>'\n"
    limits = "[loop]\nmax_iterations = 2\n"
    person.agent(work + ends, settings=MERGE_AT_ONCE + limits + check("evil.example"))
    person.commit()

    person.try_allstop("run", "add")

    said = ADD.format("evil.example", "verification")
    assert person.merged() == []
    assert f"Install: evil.example {said}" in person.allstop("log", "T1")
    assert said in person.git("show", "refs/allstop/tip/T1:prompt.txt")


def test_g10_a_setup_command_that_wants_another_host_says_what_to_add(person):
    command = f"{WANTS.format('evil.example')} || true"
    person.agent(
        "echo more >>b.txt\necho '<promise>COMPLETE</promise>'\n",
        settings=MERGE_AT_ONCE + f'[workspace]\nsetup = "{command}"\n',
    )
    person.commit()

    person.try_allstop("run", "add")

    assert ADD.format("evil.example", "workspace") in person.allstop("log", "T1")


async def clone_setup(project):
    repository = Repository(project.root)
    try:
        return await target_gate.TargetFile(project, repository, print).clone_setup("main")
    finally:
        repository.close()


LOCKS = {
    "poetry_lock": NAMES_A_HOST.format("p.example"),
    "web__yarn_lock": 'a@1:\n  resolved "https://y.example/a.tgz"\n',
}


async def test_g1_checks_and_setup_reach_the_registries_of_the_targets_lock_files(project):
    made = project(
        '[verification]\nhosts = ["v.example"]\n[workspace]\nhosts = ["w.example"]\n', **LOCKS
    )

    found = await clone_setup(made)

    assert found.check_box.network is Network.NONE
    assert found.check_box.hosts == ("p.example", "y.example")  # its own `hosts` need trust
    assert [each.key for each in made.loaded.untrusted] == ["verification.hosts", "workspace.hosts"]


async def test_g10_the_hosts_that_a_person_trusts_are_added(project, person):
    hosts = '[verification]\nhosts = ["v.example"]\n[workspace]\nhosts = ["w.example"]\n'
    project(hosts, **LOCKS)
    person.allstop("trust", "--yes")

    found = await clone_setup(project(hosts + "# again\n"))

    assert found.check_box.hosts == ("p.example", "y.example", "v.example")
    assert found.setup_box.hosts == ("p.example", "y.example", "w.example")


@pytest.mark.parametrize(
    ("settings", "agents", "checks", "setup"),
    [
        ("", "full", (), ()),
        ('[sandbox]\nnetwork = "model-only"\n', None, (), ()),
        ('[sandbox]\nnetwork = "none"\n', None, None, None),
        ('[verification]\nnetwork = "none"\n', "full", None, ()),
        ('[workspace]\nnetwork = "none"\n', "full", (), None),
        ('[sandbox]\nnetwork = "none"\n[verification]\nnetwork = "none"\n', None, None, None),
    ],
)
async def test_g1_each_kind_of_program_has_a_network_of_its_own(
    project, settings, agents, checks, setup
):
    """G1: an explicit "none" of [sandbox] holds for checks and setup, too."""
    made = project(settings)

    found = await clone_setup(made)

    given = [box(made), found.check_box, found.setup_box]
    assert [each.hosts if each.network is Network.NONE else "full" for each in given] == [
        agents,
        checks,
        setup,
    ]


async def test_g1_a_whole_network_of_the_person_holds_for_checks(project, person):
    person.home.joinpath(".config/allstop").mkdir(parents=True)
    own = person.home / ".config/allstop/config.toml"
    own.write_text('[sandbox]\nnetwork = "full"\n')

    found = await clone_setup(project(""))

    assert found.check_box.network is found.setup_box.network is Network.FULL


async def test_g10_a_box_with_allowed_hosts_gets_certificates_and_no_proxy_of_the_person(
    project, person, tmp_path
):
    """G10: its way out is the gateway; a password in the proxy's address stays outside."""
    authority = tmp_path / "authority.pem"
    authority.write_text("")
    person.variables |= {
        "HTTPS_PROXY": "http://ann:password-of-ann@proxy.example:3128",
        "SSL_CERT_FILE": str(authority),
    }

    found = await clone_setup(project(""))

    assert "password-of-ann" not in str(found.check_box)
    assert found.check_box.env["SSL_CERT_FILE"] == str(authority)


def test_g1_doctor_says_what_checks_reach(project, person):
    project("", **LOCKS)

    said = person.allstop("doctor", "--quick")

    assert "only p.example (poetry.lock), y.example (web/yarn.lock)" in said


def test_g1_init_writes_what_checks_reach(person):
    person.write("poetry.lock", LOCKS["poetry_lock"])
    person.commit()

    person.allstop("init")

    written = (person.repository / "allstop.toml").read_text()
    assert '[verification]\nnetwork = "allow"' in written
    assert "p.example" in written
    assert "needs your trust" not in person.allstop("config")
