#!/usr/bin/env bash
# Builds the container's image without a registry, and runs it as confined as docs/deploy wants it. As root, with
# debootstrap, buildah, curl and unshare:
#
#   tests/deploy/rehearse.sh WORK                   the whole Dockerfile, in roots that debootstrap makes (long)
#   tests/deploy/rehearse.sh WORK BINARY CACHE      its last stage, with a binary and a cache directory that are there
#
# WORK keeps the roots for the next time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mkdir -p "$1" && realpath "$1")
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
engine() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }

base() {
    engine inspect --type image localhost/trixie >/dev/null 2>&1 && return
    say "a clean root of Debian trixie"
    rm -rf "$work/base"
    debootstrap --variant=minbase trixie "$work/base" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/debootstrap.log" || fail "debootstrap: $(tail -1 "$work/debootstrap.log")"
    # As the image debian:trixie-slim: no packages' archives, lists, documentation.
    rm -rf "$work"/base/var/cache/apt/*.bin "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*_* \
        "$work"/base/usr/share/{doc,man,info,locale}/* "$work"/base/var/log/*.log
    from_directory "$work/base" localhost/trixie
    rm -rf "$work/base"
}

# An image of what a directory holds.
from_directory() {
    local container
    container=$(engine from scratch)
    tar -C "$1" -cf "$work/root.tar" .
    engine add -q "$container" "$work/root.tar" / >/dev/null
    engine commit -q "$container" "$2" >/dev/null
    engine rm "$container" >/dev/null
    rm "$work/root.tar"
}

# What the first stage would leave, from what is there.
prebuilt() {
    local binary=$1 cache=$2 stage="$work/stage"
    say "the first stage is not carried out: its results are $binary and $cache"
    rm -rf "$stage"
    mkdir -p "$stage/usr/local/bin" "$stage/opt/proofbox/licences" "$stage/src/docs"
    install -s "$binary" "$stage/usr/local/bin/proofbox"
    cp -r "$cache/runtimes" "$stage/opt/proofbox/"
    # The manifest names the compiled file by its full path.
    sed -i "s|$(realpath "$cache")/|/opt/proofbox/|" "$stage"/opt/proofbox/runtimes/*/manifest.json
    # shellcheck disable=SC2046 # patterns, several in a line
    (cd "$cache/build" && cp --parents -t "$stage/opt/proofbox/licences" \
        $(sed -n '/cp --parents/,/&& cd \.\. /p' "$OLDPWD/Dockerfile" | sed '1d;$d' | tr -d '\\'))
    cp LICENSE "$stage/src/"
    cp docs/LICENSES.md "$stage/src/docs/"
    from_directory "$stage" localhost/stage
    rm -rf "$stage"
    { grep '^ARG' Dockerfile; echo 'FROM localhost/stage AS build'; sed -n '/^FROM \${BASE_IMAGE}/,$p' Dockerfile; } >"$work/Dockerfile"
}

build() {
    local dockerfile=Dockerfile
    [[ $# -eq 2 ]] && prebuilt "$@" && dockerfile="$work/Dockerfile"
    say "buildah: $dockerfile"
    engine build --layers=false --format docker --build-arg BUILD_IMAGE=localhost/trixie --build-arg BASE_IMAGE=localhost/trixie \
        -t localhost/proofbox -f "$dockerfile" . >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; fail "the build"; }
}

sizes() {
    say "bytes by part"
    (cd "$root" && du -sb --apparent-size opt/proofbox/runtimes/*/* opt/proofbox/licences usr/local/bin/proofbox usr/share/doc/proofbox)
    printf '%s\t%s\n' "$(du -sbx --apparent-size "$root" | cut -f1)" "in all"
}

# The container's process: in namespaces of its own, the root read-only, no capabilities, no way to get any.
start() {
    unshare --mount --pid --net --ipc --uts --fork --kill-child=KILL bash -euc '
        root=$1 volume=$2; shift 2
        ip link set lo up
        mount --bind "$root" "$root"
        mount --bind "$volume" "$root/var/lib/proofbox"
        mount -t proc -o nosuid,noexec,nodev proc "$root/proc"
        for device in null zero urandom random; do
            mount --bind "/dev/$device" "$root/dev/$device"
        done
        mount -o remount,bind,ro "$root"
        exec chroot "$root" /usr/bin/setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs \
            --bounding-set=-all --inh-caps=-all -- env -i "$@"
    ' start "$root" "$volume" PATH=/usr/local/bin:/usr/bin:/bin "${environment[@]}" "${entrypoint[@]}" >"$work/serve.log" 2>&1 &
    outer=$!
    # The service is the first process of its namespace.
    for _ in $(seq 100); do
        service=$(pgrep -P "$outer" || true)
        [[ -n $service ]] && [[ $(cat "/proc/$service/comm") == proofbox ]] && return
        sleep 0.1
    done
    cat "$work/serve.log" >&2
    fail "it does not start"
}

inside() { nsenter --target "$service" --mount --net --pid --root --wdns=/ -- setpriv --reuid=10001 --regid=10001 --clear-groups \
    --no-new-privs --bounding-set=-all --inh-caps=-all -- env -i PATH=/usr/local/bin:/usr/bin:/bin "${environment[@]}" "$@"; }
ask() { nsenter --target "$service" --net -- curl -s -m 60 "$@"; }

healthy() {
    local began=$SECONDS
    until inside "${healthcheck[@]}" 2>/dev/null; do
        ((SECONDS - began < 60)) || { cat "$work/serve.log" >&2; fail "HEALTHCHECK"; }
        sleep 0.2
    done
}

stop() {
    kill -TERM "$service"
    local code=0
    wait "$outer" || code=$?
    outer=
    [[ $code -eq 0 ]] || { cat "$work/serve.log" >&2; fail "it ends with $code"; }
}

check() {
    local url=http://127.0.0.1:8080 key answer running
    start
    healthy
    say "HEALTHCHECK passes"
    [[ $(grep -c 'Compiling' "$work/serve.log") -eq "$1" ]] || fail "compiled $(grep -c Compiling "$work/serve.log") times, not $1"
    for pid in "$service" $(pgrep -P "$service"); do
        grep -q '^CapEff:\s*0000000000000000$' "/proc/$pid/status" || fail "capabilities of $pid"
        grep -q '^CapBnd:\s*0000000000000000$' "/proc/$pid/status" || fail "capabilities that $pid could get"
        grep -q '^NoNewPrivs:\s*1$' "/proc/$pid/status" || fail "privileges that $pid could get"
        grep -q '^Uid:\s*10001\s*10001' "/proc/$pid/status" || fail "the user of $pid"
    done
    say "the service and its workers have no capabilities"
    inside bash -c 'touch /x' 2>/dev/null && fail "the root can be written"
    inside touch /var/lib/proofbox/x && inside rm /var/lib/proofbox/x || fail "the volume can't be written"
    [[ $(ask -o /dev/null -w '%{http_code}' "$url/v1/execute" -d '{"code": "print(1)"}') == 401 ]] || fail "a request without a key"
    key=$(inside proofbox keys create rehearsal 2>/dev/null)
    sleep 2
    answer=$(ask -H "Authorization: Bearer $key" "$url/v1/execute" -d '{"code": "print(6 * 7)", "receipt": true}')
    [[ $answer == *'"stdout":"42\n"'* && $answer == *'"signature"'* ]] || fail "$answer"
    [[ $(ask -X POST -o /dev/null -w '%{http_code}' -H "X-API-Key: $key" "$url/v1/sessions" -H 'Content-Type: application/json' -d '{}') == 201 ]] \
        || fail "a session"
    say "keys, a run, a receipt, a session"
    ask -H "Authorization: Bearer $key" "$url/v1/execute" -d '{"code": "import time\ntime.sleep(3)\nprint(43)"}' >"$work/running" &
    running=$!
    sleep 1
    stop
    wait "$running" || true
    grep -q '"stdout":"43\\n"' "$work/running" || fail "what ran at SIGTERM was not finished: $(cat "$work/running")"
    say "SIGTERM: the running request was answered, exit code 0"
    inside_volume=$(cd "$volume" && find . -type f | sort | tr '\n' ' ')
    say "the volume holds: $inside_volume"
}

base
shift
build "$@"
container=$(engine from localhost/proofbox)
outer=
finish() {
    [[ -z $outer ]] || kill -KILL "$outer" 2>/dev/null || true
    engine umount "$container" >/dev/null
    engine rm "$container" >/dev/null
}
trap finish EXIT
root=$(engine mount "$container")
# From the image, as an engine would take them.
config=$(engine inspect --type image localhost/proofbox)
field() { python3 -c 'import json, sys; config = json.loads(sys.argv[1])["Docker"]["config"]; print("\0".join(eval(sys.argv[2], {"config": config})), end="\0")' "$config" "$1"; }
mapfile -d '' environment < <(field '[v for v in config["Env"] if not v.startswith("PATH=")]')
mapfile -d '' entrypoint < <(field 'config["Entrypoint"] + config["Cmd"]')
mapfile -d '' healthcheck < <(field 'config["Healthcheck"]["Test"][1:]')
[[ $(field '[config["User"]]' | tr -d '\0') == 10001:10001 ]] || fail "the user"
sizes
for device in null zero urandom random; do touch "$root/dev/$device"; done
volume="$work/volume"
fresh() { rm -rf "$volume" && install -d -m 0700 -o 10001 -g 10001 "$volume"; }

say "on the processor that it was built for"
fresh
check 0
say "on another one: the interpreter is compiled into the volume, once"
fresh
sed -i 's/"compiled_for": "[^"]*"/"compiled_for": "another"/' "$root"/opt/proofbox/runtimes/*/manifest.json
check 1
rm -f "$volume"/keys.sqlite3*
check 0
say "passed"
