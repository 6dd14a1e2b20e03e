#!/usr/bin/env bash
# Builds the wheel of the Python package, with the program in it, into target/wheels.
#
# usage: scripts/wheel.sh [PROFILE]
#
# PROFILE is one of cargo (default: dist). PYTHON is the interpreter that runs maturin (default: python3), which need not be
# one that the wheel is for: that is any from 3.10. CARGO_FLAGS are more flags of cargo.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

profile=${1:-dist}
folder=$profile
[ "$profile" != dev ] || folder=debug
target=${CARGO_TARGET_DIR:-target}
tools=target/python/tools

if ! [ -x $tools/bin/maturin ]; then
    "${PYTHON:-python3}" -m venv $tools || stop "wheel: Python 3 with its module venv is needed: apt-get install python3-venv"
    $tools/bin/pip install --quiet 'maturin>=1.9,<2' || stop "wheel: maturin cannot be installed: pip install maturin"
fi

# Both at once, so that crates from outside have the same features in both, and are built once.
# shellcheck disable=SC2086 # CARGO_FLAGS are several words
cargo build ${CARGO_FLAGS:-} --profile "$profile" --package fsage --package fsage-python
mkdir -p python/fsage.data/scripts
install -m 755 "$target/$folder/fsage" python/fsage.data/scripts/fsage
install -m 644 LICENSE-APACHE LICENSE-MIT python
# shellcheck disable=SC2086
$tools/bin/maturin build ${CARGO_FLAGS:-} --quiet --profile "$profile" --manifest-path python/Cargo.toml --out target/wheels
wheel=$(ls -t target/wheels/fsage-*.whl | head -n 1)
say "wheel: $wheel"
