"""The networks of agents, checks and the setup command, with the defaults of what is unset."""

from allstop.settings.model import Network, Settings, WorkNetwork


def of_agents(settings: Settings) -> Network | None:
    """None: it depends on the agent, see `app/agents/model_access`."""
    return settings.sandbox.network


def of_checks(settings: Settings) -> WorkNetwork:
    return settings.verification.network or _default_of_work(settings)


def of_setup(settings: Settings) -> WorkNetwork:
    return settings.workspace.network or _default_of_work(settings)


def _default_of_work(settings: Settings) -> WorkNetwork:
    """An explicit "none" or "full" of [sandbox] network holds for all programs in boxes."""
    match settings.sandbox.network:
        case Network.NONE:
            return WorkNetwork.NONE
        case Network.FULL:
            return WorkNetwork.FULL
        case _:
            return WorkNetwork.ALLOW
