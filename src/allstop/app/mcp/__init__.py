"""The MCP server for clients, and its tools."""
