"""A person with a repository."""

from fixtures import asyncio_backend, person_at_home  # noqa: F401 - fixtures
