#!/bin/sh
# The first node of a cluster: Ray's head, the deployment on it, and the MCP door in the foreground.
# All three in one container, since whoever drives Ray must share its node's files and memory.
set -eu
ray start --head --port 6379 --include-dashboard false --metrics-export-port 8080 --disable-usage-stats
hindsight-ray --home /var/lib/hindsight --address 127.0.0.1:6379 up --config /etc/hindsight/settings.yaml
exec hindsight-ray --address 127.0.0.1:6379 mcp --http --port 8765
