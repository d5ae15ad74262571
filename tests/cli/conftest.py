"""A person with a repository."""

from support.process_fixtures import asyncio_backend, person_at_home  # noqa: F401 - fixtures
