# Sourced by the other scripts: virtual environments with a chosen Triton.
#
#   make_env DIRECTORY TRITON [MORE...]
#
# creates DIRECTORY, or brings it up to date, with torch, triton==TRITON, this checkout and its test tools. An
# environment that is already as asked for is left alone.

TORCH=2.13.0

require_python() {
    PYTHON=${PYTHON:-python3}
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "tritonport needs Python 3.10 or newer; set PYTHON to one (found: $("$PYTHON" --version 2>&1))" >&2
        exit 2
    }
}

make_env() {
    local directory=$1 triton=$2
    shift 2
    local wanted
    wanted=$("$PYTHON" --version; echo "torch $TORCH, triton $triton, $*"; cat pyproject.toml)
    if [ -f "$directory/made-for" ] && [ "$(cat "$directory/made-for")" = "$wanted" ]; then
        return
    fi
    echo "== $directory: torch $TORCH, triton $triton"
    "$PYTHON" -m venv --clear "$directory"
    "$directory/bin/pip" install --quiet "torch==$TORCH"
    # torch may ask for a Triton of its own; the one named here is the one that counts.
    "$directory/bin/pip" install --quiet "triton==$triton" "$@"
    "$directory/bin/pip" install --quiet -e '.[test]' "triton==$triton" "$@"
    printf '%s\n' "$wanted" > "$directory/made-for"
}
