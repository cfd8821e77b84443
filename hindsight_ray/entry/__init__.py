"""Doors to the outside: command line, MCP."""
