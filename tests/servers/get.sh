#!/bin/sh
# Gets the servers that tests use: Weaviate built by Go into .servers/, PostgreSQL from the system's
# packages where this may install them. What cannot be had is said, and its tests are skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
WEAVIATE=v1.35.2

if [ ! -x .servers/bin/weaviate-server ] && ! command -v weaviate-server >/dev/null 2>&1; then
    if command -v go >/dev/null 2>&1; then
        echo "Building weaviate-server $WEAVIATE (some minutes, once)"
        GOBIN="$PWD/.servers/bin" go install "github.com/weaviate/weaviate/cmd/weaviate-server@$WEAVIATE" ||
            echo "weaviate-server could not be built; its tests will be skipped"
    else
        echo "no Go on this machine (1.25 or newer builds weaviate-server); its tests will be skipped"
    fi
fi

if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing PostgreSQL from the system's packages"
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql; } >/dev/null 2>&1 ||
            echo "PostgreSQL could not be installed; its tests will be skipped"
    else
        echo "no PostgreSQL; \`apt-get install postgresql\` gets it; its tests will be skipped"
    fi
fi
