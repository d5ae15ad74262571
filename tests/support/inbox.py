"""The inbox of a project, as its control room shows it."""

from allstop.app.live_runs import LiveRuns


async def inbox(project):
    live_runs = LiveRuns(project)
    await live_runs.begin()
    return await live_runs.waiting()
