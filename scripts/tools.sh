#!/usr/bin/env bash
# Installs the tools that check this repository into target/tools, unless the machine has them.
#
# usage: scripts/tools.sh cargo-deny|cargo-fuzz|typos...
#
# Quick and silent when nothing is missing. The versions below are the ones that the checks were written with; a
# newer one on the PATH is used as it is. Put target/tools/bin on the PATH to run them.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

cargo_deny_version=0.20.2
cargo_fuzz_version=0.13.2
typos_version=1.52.0

tools=$PWD/target/tools
PATH="$tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

# has TOOL VERSION: whether the PATH has TOOL, VERSION or newer.
has() {
    local printed
    printed=$("$1" --version 2>/dev/null </dev/null) || return 1
    at_least "${printed##* }" "$2"
}

# Without optimization: these run for a second or two, and so build in a third of the time.
cargo_install_package() {
    say "tools: cargo install $1 $2 (about 2 minutes on 2 cores)"
    CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --debug --force --root "$tools" "$1@$2" >&2 ||
        stop "tools: $1 $2 could not be installed. Type this to see why:" "    cargo install --locked $1@$2"
    rm -rf "$tools/build"
}

install_cargo_tool() { has "$1" "$2" || cargo_install_package "$1" "$2"; }

python_with_venv() {
    have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null
}

install_typos() {
    if has typos $typos_version; then return; fi
    if ! python_with_venv && can_install_debian; then install_debian python3 python3-venv; fi
    if python_with_venv; then
        say "tools: pip install typos $typos_version"
        mkdir -p "$tools/bin"
        if python3 -m venv "$tools/python" >&2 &&
            "$tools/python/bin/pip" install --quiet "typos==$typos_version" >&2 </dev/null; then
            ln -sf "$tools/python/bin/typos" "$tools/bin/typos"
            return
        fi
    fi
    cargo_install_package typos-cli $typos_version
}

for tool in "$@"; do
    case $tool in
        cargo-deny) install_cargo_tool cargo-deny $cargo_deny_version ;;
        cargo-fuzz) install_cargo_tool cargo-fuzz $cargo_fuzz_version ;;
        typos) install_typos ;;
        *) stop "scripts/tools.sh: unknown tool '$tool' (cargo-deny, cargo-fuzz, typos)" ;;
    esac
done
