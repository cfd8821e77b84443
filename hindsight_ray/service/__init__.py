"""What the product does, one verb per file. Reads and writes through ports only."""
