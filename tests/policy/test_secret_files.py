"""K18: which files may hold secrets, by their names."""

from allstop.policy.secret_files import is_secret
from support.cases import for_each


@for_each(
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
        "deploy/github_rsa",
        "etc/ssh_host_ed25519_key",
        "gcp-key.json",
        "master_key",
        "session_tokens.txt",
        "app-firebase-adminsdk-x1.json",
        ".vault_pass.txt",
        "prod-kubeconfig",
        "kubeconfig.yaml",
        "release.pk8",
    ],
)
def test_k18_data_that_is_called_after_a_secret_may_hold_one(path):
    assert is_secret(tuple(path.split("/")))


@for_each(
    "path",
    [
        "src/auth/token.py",
        "src/secrets/manager.ts",
        "docs/passwords.md",
        "design/tokens.json",
        "tokenizer.json",
        "src/session_tokens.go",
        "i18n/keys.json",
        "visa-key.json",
        "keyboard.txt",
        "pkg/jwt_rsa/sign.go",
        "cmd/kubeconfig_test.go",
        ".env.example",
        "id_ed25519.pub",
        "config/settings.yml",
        ".github/workflows/ci.yml",
    ],
)
def test_k18_code_and_other_data_hold_none(path):
    assert not is_secret(tuple(path.split("/")))
