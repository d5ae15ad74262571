"""K18: which files may hold secrets, by their names."""

import pytest

from allstop.core.allowing.secrets import is_secret


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.local",
        "prod.env",
        "secrets/token",
        "config/secrets/db.yml",
        "config/credentials.yml.enc",
        "api-key.txt",
        "deploy_key",
        "my_service-account-dev.json",
        "terraform.tfstate.backup",
        "certs/server.key",
        "Passwords.CSV",
        ".git/config",
        "home/.bash_history",
    ],
)
def test_k18_data_that_is_called_after_a_secret_may_hold_one(path):
    assert is_secret(tuple(path.split("/")))


@pytest.mark.parametrize(
    "path",
    [
        "src/auth/token.py",
        "src/secrets/manager.ts",
        "docs/passwords.md",
        "design/tokens.json",
        "tokenizer.json",
        ".env.example",
        "id_ed25519.pub",
        "config/settings.yml",
        ".github/workflows/ci.yml",
        "keyboard.txt",
    ],
)
def test_k18_code_and_other_data_hold_none(path):
    assert not is_secret(tuple(path.split("/")))
