"""How memories enter a prompt: dated, apart by type, experiences as advice. Stub for now."""
