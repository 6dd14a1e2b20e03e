#!/usr/bin/env bash
# Checks the dependencies against deny.toml: licenses, bans, sources, and known vulnerabilities.
#
# The vulnerabilities come from a public database. Where it cannot be fetched, the copy of an earlier fetch is asked:
# cargo-deny keeps it in CARGO_HOME/advisory-dbs, where one may be put for machines without a network. Without any, that
# check is left out with a warning, or is an error where FSAGE_ADVISORIES=required. The other checks need no network.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

copies=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs

# The date of the newest copy; fails where there is none.
date_of_copy() {
    local newest
    newest=$(find "$copies" -mindepth 2 -maxdepth 3 -name HEAD -printf '%T@ %TY-%Tm-%Td\n' 2>/dev/null | sort -n | tail -n 1)
    [ -n "$newest" ] && printf '%s\n' "${newest#* }"
}

advisories() { cargo deny check --hide-inclusion-graph --disable-fetch advisories; }

cargo deny check --hide-inclusion-graph licenses bans sources
if GIT_TERMINAL_PROMPT=0 timeout 120 cargo deny fetch db >/dev/null 2>&1 </dev/null; then
    advisories
elif date=$(date_of_copy); then
    say "warning: the database of known vulnerabilities cannot be fetched here; the copy of $date is asked"
    advisories
elif [ "${FSAGE_ADVISORIES:-}" = required ]; then
    stop "the database of known vulnerabilities cannot be fetched here, and there is no copy in $copies"
else
    say "warning: the database of known vulnerabilities cannot be fetched here, and there is no copy in $copies:" \
        "advisories were not checked"
fi
