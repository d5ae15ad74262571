"""Builds the launch of an ACP agent: its command and environment."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.agents.acp.acp_session import SessionSettings
from allstop.adapters.agents.acp.tools import TIMEOUT_VARIABLES
from allstop.adapters.agents.box_files import writing
from allstop.ports import Box, Launch

_PRINT_FOLDER = 'pwd; exec "$@"'
"""Prints the folder first: ACP needs its absolute path, which only the box knows."""


class Setup(Struct, frozen=True, kw_only=True):
    """The settings of one ACP agent."""

    argv: tuple[str, ...]
    fallback_box: Box  # for turns without a workspace
    session: SessionSettings = SessionSettings()
    key: str = ""
    key_name: str = ""  # the environment variable that holds the key
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}  # written in the box before it starts
    answer_within_s: float = 60.0  # for a request; the drive limits the turn
    flat_rate: bool = False
    login: bool = False  # the home of the fallback box holds its login

    def __repr__(self) -> str:
        return f"Setup({self.argv[0]})"


def build_launch(setup: Setup, turn_box: Box | None, label: str) -> Launch:
    box = turn_box or setup.fallback_box
    if setup.login:
        box = replace(box, home=setup.fallback_box.home)
    key = {setup.key_name: setup.key} if setup.key and setup.key_name else {}
    return Launch(
        argv=writing(setup.files, ("sh", "-c", _PRINT_FOLDER, "sh", *setup.argv)),
        box=box,
        label=label,
        env={**box.env, "TZ": "UTC", **TIMEOUT_VARIABLES, **setup.env, **key},
        programs=(setup.argv[0],),
        errors_late=True,
    )
