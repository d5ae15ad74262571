"""The command `up`: serves the control room and drives runs in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, run

if TYPE_CHECKING:
    from ssl import SSLContext

    from allstop.app.control_room import Address
    from allstop.app.project import Project
    from allstop.app.supervisor import RunKinds
    from allstop.server.process import Ready


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="The port; by default [server] port. 0 chooses a free one.",
)
@click.option("--open/--no-open", "opens", default=False, help="Also open the browser.")
@click.pass_obj
def up(context: Context, port: int | None, opens: bool) -> None:
    """Open the control room in the browser.

    Ctrl-C ends the server; its runs can be resumed. If a control room is open already for this
    repository, print a new link to it.
    """
    from allstop.app.control_room import ControlRoomOpenError

    with context.project({} if port is None else {"server.port": port}) as project:
        try:
            run(lambda: serve_here(project, context.run_kinds, opens=opens))
        except ControlRoomOpenError as error:
            if error.address is None:
                raise
            echo(f"It is already running, as process {error.address.pid}.")
            _greet(error.address.url, _link(project, error.address), opens=opens)


async def serve_here(project: Project, kinds: RunKinds, *, opens: bool) -> None:
    from allstop.open_files import raise_limit
    from allstop.server.process import serve

    raise_limit()

    def tell_ready(ready: Ready) -> None:
        _greet(ready.url, ready.link, opens=opens)
        echo("Ctrl-C ends it.")

    await serve(project, kinds, echo, tell_ready)


def _greet(url: str, link: str, *, opens: bool) -> None:
    from allstop.server.static_files import FOLDER

    echo(f"The control room is open at {url}")
    if not (FOLDER / "index.html").is_file():
        echo("Its page is not built: run `make web` in the checkout of the source.")
    echo(f"Sign a browser in with this link within 15 minutes; it works once: {link}")
    if opens and click.launch(link) != 0:
        echo("No browser could be opened; use the link.")


def _link(project: Project, address: Address) -> str:
    """Get a new link from the control room that is open."""
    import httpx2

    from allstop.core.errors import AllstopError
    from allstop.server.access.credentials import Token

    token = Token(project.folder / "token").text
    try:
        answer = httpx2.post(
            f"{address.url}/api/v1/keys",
            json={},
            headers={"authorization": f"Bearer {token}"},
            verify=_its_certificate(project),
            trust_env=False,
            timeout=10,
        )
        answer.raise_for_status()
    except httpx2.HTTPError as error:
        raise AllstopError(
            f"the control room at {address.url} (process {address.pid}) refused a link: {error}",
            "use the link that it printed at its start, or restart it",
            code="no_link",
        ) from error
    return address.url + str(answer.json()["path"])


def _its_certificate(project: Project) -> SSLContext:
    """Trust only the certificate of the settings, so that nobody else gets the token.

    Its issuer and host name don't matter then.
    """
    import ssl

    file = project.settings.server.tls_cert
    context = ssl.create_default_context(cafile=file)
    context.check_hostname = file is None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
