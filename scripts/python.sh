#!/usr/bin/env bash
# Tests the Python package: builds its wheel, installs it beside what the tests need into an environment of its own, with no
# Rust on the way, and runs the tests and the examples of docstrings: on Python 3.11 or the newest, and with PYTHONS=all on
# every one from 3.10 that is there. Without, the others run what needs pyarrow alone: the wheel is the same for all.
#
# usage: scripts/python.sh [ARGUMENT OF PYTEST]...
#
# The profile is dev, so that `make test` builds little more than it has; PYTHON_PROFILE names another. Where there is no
# Python with venv, or its packages cannot be fetched, a line says so, and the tests are skipped.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

skip() {
    say "python: $1: the tests of the Python package are skipped"
    exit 0
}

# The newest that is there of each version; pyenv has some that are not on the PATH.
interpreters() {
    local version python
    for version in 3.10 3.11 3.12 3.13 3.14; do
        for python in "$(command -v python$version || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
            if [ -x "$python" ] && "$python" -c "import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" \
                2>/dev/null; then
                echo "$version $python"
                break
            fi
        done
    done
}

found=$(interpreters)
[ -n "$found" ] || skip "there is no Python from 3.10 with its module venv"
main=$(echo "$found" | grep '^3.11 ' || echo "$found" | tail -n 1)
PYTHON=$(echo "$main" | cut -d ' ' -f 2)
export PYTHON
if [ ! -x target/python/tools/bin/maturin ]; then
    "$PYTHON" -m venv target/python/tools && target/python/tools/bin/pip install --quiet 'maturin>=1.9,<2' ||
        skip "maturin cannot be fetched"
fi
scripts/wheel.sh "${PYTHON_PROFILE:-dev}"
wheel=$(ls -t target/wheels/fsage-*.whl | head -n 1)
mkdir -p target/python
rm -rf target/python/tests
cp -r python/tests target/python/tests
mkdir -p target/python/tests/docs
cp docs/python/*.ipynb docs/python/*.py target/python/tests/docs/

echo "$found" | while read -r version python; do
    environment=target/python/$version
    [ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
    wanted=("$wheel[test]") tests=(--doctest-modules --pyargs fsage .)
    if [ "${PYTHONS:-}" != all ] && [ "$version $python" != "$main" ]; then
        wanted=("$wheel" 'pytest>=8' 'pyarrow>=15') tests=(test_refused.py)
    fi
    "$environment/bin/pip" install --quiet "${wanted[@]}" || skip "packages for Python $version cannot be fetched"
    "$environment/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"
    say "python: $version"
    # The installed package, and not the folder beside: so the tests run from elsewhere, without Rust.
    (
        root=$PWD
        cd target/python/tests
        PATH=$root/$environment/bin:/usr/bin:/bin FSAGE_SOURCE=$root/python "$root/$environment/bin/python" -m pytest \
            -q -ra -p no:cacheprovider "${tests[@]}" "$@"
    )
done
