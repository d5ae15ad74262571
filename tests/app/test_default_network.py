"""G1: what agents reach if [sandbox] network isn't set."""

import json

import anyio

from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.box import box, without_network
from allstop.app.agents.model_access import network_of, why_whole_network
from allstop.app.agents.registry import Agents
from allstop.app.gateway.agent import GatewayAgent
from allstop.app.setup import doctor
from allstop.ports import Isolation
from allstop.ports import Network as BoxNetwork
from allstop.settings.model import Network
from support.cases import for_each

KEY = "sk-the-real-key-0123456789"
CODEX = 'driver = "codex"\ncommand = ["/bin/true"]\n'
CLAUDE = 'driver = "claude-code"\ncommand = ["/bin/true"]\n'
ACP = 'driver = "acp"\ncommand = ["{}", "acp"]\n'
AIDER = 'driver = "command"\ncommand = ["aider"]\npass_env = ["OPENAI_API_KEY"]\n'
SANDBOXED = Isolation(boxed=True, allowed=True, how="here")


def project_of(trusted, person, agent, more=""):
    person.variables["OPENAI_API_KEY"] = KEY
    return trusted(f"[agents.it]\n{agent}{more}", other=["x"])


def reach(project):
    return network_of(project, "it", project.settings.agents["it"])


def rows(project):
    found = anyio.run(doctor.examine, project, SANDBOXED)
    return [row for row in found if row.name == "gateway"]


@for_each(
    "agent",
    [
        CODEX,
        CODEX + 'base_url = "http://127.0.0.1:9/v1"\napi_key_env = ""\n',
        CODEX + 'api_key_command = ["true"]\n',
        CLAUDE + 'api_key_env = "OPENAI_API_KEY"\n',
        ACP.format("gemini") + 'api_key_env = "OPENAI_API_KEY"\n',
        ACP.format("qwen") + 'pass_env = ["OPENAI_API_KEY"]\n',
        AIDER + 'model = "openai/gpt-5.5"\n',
    ],
)
def test_g1_an_agent_that_can_reaches_only_its_model_by_default(trusted, person, agent):
    assert reach(project_of(trusted, person, agent)) is Network.MODEL_ONLY


@for_each(
    "agent, more, why",
    [
        (CLAUDE + 'api_key_env = "NO_SUCH_KEY"\n', "", "NO_SUCH_KEY"),
        (CODEX + 'api_key_file = "/nowhere/key"\n', "", "can't be read"),
        (CODEX + 'pass_env = ["OPENAI_API_KEY"]\n', "", "must stay outside|variables hold the key"),
        (CODEX, '[sandbox]\nmode = "off"\n', "sandbox is off"),
        ('driver = "command"\ncommand = ["/bin/true"]\n', "", "not known"),
        (ACP.format("opencode"), "", "several providers"),
        (AIDER, "", "may choose another provider"),
        (
            CLAUDE + 'api_key_env = "OPENAI_API_KEY"\nenv = { CLAUDE_CODE_USE_BEDROCK = "1" }\n',
            "",
            "CLAUDE_CODE_USE_BEDROCK",
        ),
    ],
)
def test_g1_an_agent_that_can_not_has_the_whole_network_and_doctor_says_why(
    trusted, person, agent, more, why
):
    project = project_of(trusted, person, agent, more)

    assert reach(project) is Network.FULL
    (row,) = rows(project)
    assert (row.ok, row.needed) == (False, False)
    assert any(each in row.found for each in why.split("|"))
    assert row.hint


def test_g1_k24_a_login_keeps_the_whole_network_and_doctor_says_so(trusted, person):
    login = person.home / ".local/state/allstop/logins/it/.codex/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    project = project_of(trusted, person, CODEX)

    assert reach(project) is Network.FULL
    (row,) = rows(project)
    assert "logged in" in row.found


@for_each("network", ["none", "full", "model-only", "allow"])
def test_g1_a_network_that_is_set_stays(trusted, person, network):
    project = project_of(trusted, person, CODEX, f'[sandbox]\nnetwork = "{network}"\n')

    assert reach(project) == network


def test_g1_doctor_names_the_agents_that_reach_only_their_model_by_default(trusted, person):
    (row,) = rows(project_of(trusted, person, CODEX))

    assert (row.ok, row.found.startswith("it: reach only their model")) == (True, True)


async def test_g1_each_agent_of_a_project_has_a_network_of_its_own(trusted, person):
    project = project_of(trusted, person, CODEX, f"[agents.open]\n{AIDER}")
    (person.home / "bin").mkdir(exist_ok=True)
    (person.home / "bin" / "aider").symlink_to("/bin/true")
    launcher = await make_launcher("auto", project.live)

    made = [registry.make_agent(project, launcher, name) for name in ("it", "open")]

    assert [isinstance(each, GatewayAgent) for each in made] == [True, False]
    for each in made:
        await each.close()


async def test_g3_by_default_a_box_behind_the_gateway_has_no_proxy_and_no_certificates(
    trusted, person, tmp_path
):
    """G1, G3: other boxes of the project have them; a password in a proxy's address is secret."""
    own = tmp_path / "own.pem"
    own.write_text("")
    person.variables |= {
        "HTTPS_PROXY": "http://ann:password-of-ann@proxy.example:3128",
        "SSL_CERT_FILE": str(own),
    }
    project = project_of(trusted, person, CODEX)

    opened = box(project)
    closed = without_network(project, opened)

    assert (opened.network, closed.network) == (BoxNetwork.FULL, BoxNetwork.NONE)
    assert "password-of-ann" in str(opened.env)
    assert "password-of-ann" not in str(closed)
    assert str(own) in opened.read
    assert str(own) not in str(closed)


async def test_g1_an_agent_is_made_again_if_its_network_changes(trusted, person):
    """G1: `base_url` and key stay the same, and the box without a gateway, too."""
    project = project_of(trusted, person, CODEX)
    agents = Agents(project, await make_launcher("auto", project.live))
    agents.ensure_agents(["it"])
    before = agents["it"]
    agents.ensure_agents(["it"])
    same = agents["it"]

    text = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", text + '[sandbox]\nnetwork = "full"\n')
    person.commit()
    person.allstop("trust", "--yes")
    project.forget_settings()
    agents.ensure_agents(["it"])

    assert (same is before, agents["it"] is before) == (True, False)
    await agents.close()


def written_by_init(person, *programs):
    for name in programs:
        person.program(name, "true")
    person.allstop("init")
    return (person.repository / "allstop.toml").read_text()


def test_g1_init_writes_the_network_if_each_agent_can_work_with_it(person):
    person.variables["OPENAI_API_KEY"] = KEY

    written = written_by_init(person, "codex")

    assert '[sandbox]\nnetwork = "model-only"' in written
    told = json.loads(person.allstop("config", "--json"))
    found = {row["key"]: row["value"] for row in told["settings"]}
    assert (found["sandbox.network"], told["untrusted"]) == ("model-only", [])


def test_g1_init_leaves_the_choice_open_if_one_agent_has_no_key(person):
    """G1: an active line would refuse the agent that is logged in later."""
    person.variables["OPENAI_API_KEY"] = KEY
    person.keys = {}

    written = written_by_init(person, "codex", "claude")

    assert '[sandbox]\n# network = "model-only"' in written


def test_g1_without_a_sandbox_model_only_is_refused_and_unset_falls_back(trusted, person):
    """G1: macOS has none, for example."""
    project = project_of(trusted, person, CODEX, '[sandbox]\nmode = "off"\n')
    settings = project.settings.agents["it"]

    assert "the sandbox is off" in why_whole_network(project, "it", settings).why
    assert registry.describe_launch(project, "it", settings)


def test_g1_where_no_sandbox_works_doctor_does_not_claim_that_the_network_is_closed(
    trusted, person
):
    project = project_of(trusted, person, CODEX)
    bare = Isolation(boxed=False, allowed=False, how="no sandbox", hint="install bubblewrap")

    found = anyio.run(doctor.examine, project, bare)

    (row,) = [each for each in found if each.name == "gateway"]
    assert (row.ok, row.hint) == (False, "install bubblewrap")
    assert "not used for it" in row.found
