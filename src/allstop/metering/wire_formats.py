"""The wire formats of model calls, and the providers that speak them."""

from enum import StrEnum


class WireFormat(StrEnum):
    """The shape of one model call and its reply."""

    RESPONSES = "responses"  # OpenAI
    CHAT = "chat"  # OpenAI and compatible servers, such as Ollama
    MESSAGES = "messages"  # Anthropic
    GEMINI = "gemini"  # generateContent


class Provider(StrEnum):
    """A family of paths, of authorization headers and of error bodies."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
