#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licenses, bans, sources, and known vulnerabilities.
#
# The vulnerabilities come from a public database. Where it cannot be fetched, that check is left out with a
# warning: the others need no network.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

cargo deny check --hide-inclusion-graph licenses bans sources
if GIT_TERMINAL_PROMPT=0 timeout 120 cargo deny fetch db >/dev/null 2>&1 </dev/null; then
    cargo deny check --hide-inclusion-graph --disable-fetch advisories
else
    say "warning: the database of known vulnerabilities cannot be fetched here: advisories were not checked"
fi
