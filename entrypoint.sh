#!/bin/bash
# Starts the sandbox: checks its environment, renders the CLIs' configurations, and becomes sandbox/supervise, which runs turnd and
# the front (nginx) until it is told to stop. A command given to the container runs instead of them, as the CLIs' user.
#
#   --scripted   turnd answers both CLIs by a model that follows a script: no provider is needed
#
# Exit codes: 0 stopped as requested; the command's own; or a fault, which the last lines of the log explain:
#   10 user or capabilities   11 home   12 state   13 workspace   14 /tmp   15 /run
#   16 a setting or a configuration is refused   17 turnd or the front ended again and again
set -u
trap 'exit 0' TERM INT

SANDBOX=/opt/turnd/sandbox
RUN=/run/sandbox
HOME_DIRECTORY=${TURND_HOME:-/home/sandbox}
STATE=${TURND_STATE_DIR:-/var/lib/turnd}
WORKSPACE=${TURND_WORKSPACE:-/workspace}
PORT=${SANDBOX_PORT:-8080}
WITHOUT_RIGHTS=(setpriv --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)

say() { echo "sandbox: $*" >&2; }
fault() { say "$2" && exit "$1"; }

# as <uid> <gid> <command…>: without groups or capabilities, and unable to regain any. Changes nothing where that user runs this.
as() {
    local uid=$1 gid=$2
    shift 2
    [ "$uid" != "$SELF" ] || exec "$@"
    exec "${WITHOUT_RIGHTS[@]}" --reuid="$uid" --regid="$gid" -- "$@"
}
user_can_use() (as "$USER_ID" "$GROUP_ID" test -r "$1" -a -w "$1" -a -x "$1")

check_user() {
    SELF=$(id -u)
    local run_as=${TURND_RUN_AS:-1000:1000} effective needed missing=
    [ "$run_as" != self ] || run_as=$SELF:$(id -g)
    USER_ID=${run_as%:*} GROUP_ID=${run_as#*:}
    [ "$SELF" != "$USER_ID" ] || return 0
    [ "$SELF" = 0 ] || fault 10 "started as uid $SELF: start the container as root, or set TURND_RUN_AS=self"
    effective=$((16#$(sed -n 's/^CapEff:\s*//p' /proc/self/status)))
    # Bits of capabilities(7). Without SETPCAP everything runs, but what runs as the user could regain capabilities.
    for needed in CHOWN=0x1 DAC_OVERRIDE-or-DAC_READ_SEARCH=0x6 KILL=0x20 SETGID=0x40 SETUID=0x80 SETPCAP=0x100; do
        [ $((effective & ${needed#*=})) != 0 ] || missing="$missing ${needed%=*}"
    done
    [ -z "$missing" ] || fault 10 "the container lacks these capabilities:$missing"
}

# shellcheck source=sandbox/directories
. "$SANDBOX/directories"

# What its own user has closed is opened again, and the owner of nothing in it is changed: that user could have put anything there.
make_usable() {
    if [ "$(stat -c %u "$1")" = "$USER_ID" ]; then
        (as "$USER_ID" "$GROUP_ID" chmod u+rwx "$1") 2>/dev/null
    else
        [ "$SELF" = 0 ] && adopt "$1" "$USER_ID:$GROUP_ID"
    fi && user_can_use "$1"
}

check_users_directory() { # <exit code> <what it is> <directory>
    local code=$1 what=$2 directory=$3
    [ -d "$directory" ] || mkdir -p "$directory" || fault "$code" "the $what $directory cannot be made"
    user_can_use "$directory" || make_usable "$directory" ||
        fault "$code" "the $what $directory ($(stat -c 'uid %u, mode %a' "$directory")) cannot be used by uid $USER_ID: give it to that user, mount a volume there, or set TURND_ADOPT_VOLUMES=yes"
}

check_home() {
    check_users_directory 11 home "$HOME_DIRECTORY"
    # Volumes of Kubernetes belong to root, and everybody may write to them.
    [ "$SELF" != 0 ] || [ "$(stat -c %u "$HOME_DIRECTORY")" = "$USER_ID" ] || adopt "$HOME_DIRECTORY" "$USER_ID:$GROUP_ID" || return 0
    [ -z "$(find "$HOME_DIRECTORY" -maxdepth 0 -perm /022)" ] || (as "$USER_ID" "$GROUP_ID" chmod go-w "$HOME_DIRECTORY")
}

check_tmp() {
    # There too, but without the sticky bit that keeps one user from another's files.
    [ -k /tmp ] && user_can_use /tmp || chmod 1777 /tmp 2>/dev/null
    user_can_use /tmp || fault 14 "/tmp cannot be used by uid $USER_ID: mount a tmpfs there"
}

check_state() {
    mkdir -p "$STATE" 2>/dev/null
    if [ "$SELF" = 0 ] && [ "$USER_ID" != 0 ] && [ -d "$STATE" ] && [ "$(stat -c %u "$STATE")" != 0 ]; then
        # That user may have put links into it that lead anywhere; turnd itself makes no link there.
        [ -z "$(find_link_in_state "$STATE")" ] ||
            fault 12 "the state $STATE belongs to uid $(stat -c %u "$STATE") and holds a link, $(find_link_in_state "$STATE"): remove it, or take a new volume"
        adopt "$STATE" 0:0 ! -regex "$HOMES" ||
            fault 12 "the state $STATE belongs to uid $(stat -c %u "$STATE"), who could forge it: give it to root, or set TURND_ADOPT_VOLUMES=yes"
    fi
    [ -d "$STATE" ] && [ -w "$STATE" ] || fault 12 "the state $STATE cannot be written: mount a volume there"
    [ "$SELF" = 0 ] || return 0
    chmod 0711 "$STATE"
    # No other user lists the sessions of a state that another image has written.
    [ ! -d "$STATE/sessions" ] || chmod go-rw,-t "$STATE/sessions"
    local home
    for home in "$STATE"/sessions/*/home; do
        # A link in its place is moved aside by turnd: what it leads to is not a home.
        [ -L "$home" ] || [ ! -d "$home" ] || [ "$(stat -c %u "$home")" = "$USER_ID" ] || adopt "$home" "$USER_ID:$GROUP_ID" ||
            fault 12 "$home cannot be used by uid $USER_ID: give it to that user, or set TURND_ADOPT_VOLUMES=yes"
    done
}

# Files that an agent has put into its home, or a disk that it has filled, must not prevent a start: turns have homes of their own.
render_configurations() {
    turnd render >/dev/null
    case $? in
    0) ;;
    3) say "warning: the CLIs' configurations in $HOME_DIRECTORY are not as the environment asks: turns go on in homes of their own" ;;
    *) exit 16 ;;
    esac
}

render_front() {
    [ "${TURND_PORT:-8091}" = 8091 ] || fault 16 "TURND_PORT is $TURND_PORT: the front of this image expects turnd on 8091"
    # A user who may write here could put another front in place of this one, and would receive the callers' tokens.
    [ "$SELF" != 0 ] || [ -z "$(find "${RUN%/*}" -maxdepth 0 -perm /022)" ] || chmod go-w,-t "${RUN%/*}" 2>/dev/null ||
        fault 15 "${RUN%/*} can be written by others: give it to root"
    mkdir -p "$RUN/nginx" 2>/dev/null && [ -w "$RUN" ] || fault 15 "$RUN cannot be made: mount a tmpfs at /run"
    "$SANDBOX/render-front" "$RUN" || exit 16
    FRONT_ID=$SELF FRONT_GROUP_ID=$(id -g)
    [ "$SELF" != 0 ] || { FRONT_ID=$(id -u www-data) FRONT_GROUP_ID=$(id -g www-data); }
    # A container that was started before has it already.
    [ "$(stat -c %u "$RUN/nginx")" = "$FRONT_ID" ] ||
        { chmod 0700 "$RUN/nginx" && chown "$FRONT_ID:$FRONT_GROUP_ID" "$RUN/nginx"; } ||
        fault 15 "$RUN/nginx cannot be given to the front"
    # The directory of turnd's sockets: the front's group may reach them, and no other user.
    mkdir -p "$RUN/turnd" && chmod 0750 "$RUN/turnd" && chgrp "$FRONT_GROUP_ID" "$RUN/turnd" ||
        fault 15 "$RUN/turnd cannot be made"
}

# The supervisor holds the ports of turnd and the front, where the system separates users by SO_REUSEPORT: some engines do not.
plan_holding() {
    export TURND_REUSE_PORT=off
    [ "$SELF" != "$USER_ID" ] || return 0
    if "$SANDBOX/hold-ports" test "$USER_ID"; then
        TURND_REUSE_PORT=on
    else
        say "warning: ports cannot be held here: a program of uid $USER_ID could take one while turnd or the front is started again"
    fi
}

# A user who has the token can read what turnd keeps from the CLIs' user, and act in a tenant's name.
check_token_file() {
    local file=${TURND_TOKEN_FILE:-}
    [ -n "$file" ] && [ "$SELF" != "$USER_ID" ] || return 0
    [ "$(stat -Lc %u "$file")" != "$USER_ID" ] && ! (as "$USER_ID" "$GROUP_ID" test -r "$file") ||
        fault 16 "TURND_TOKEN_FILE is $file ($(stat -Lc 'uid %u, mode %a' "$file")), which uid $USER_ID, the CLIs' user, can read: make it root's own, with mode 600 (in Kubernetes defaultMode: 0400)"
}

# From here on nothing of this shell is left, which needs processes to work. A new turnd resumes the turns that run.
serve() {
    # With a token any name is accepted: a caller who was led here under a foreign name does not have it. TURND_HOSTS then concerns the front only.
    local turnd=(env TURND_HOSTS="${TURND_HOSTS:-}${TOKEN:+${TURND_HOSTS:+,}*}"
        TURND_SOCKET="$RUN/turnd/turnd.socket" TURND_TERMINAL_SOCKET="$RUN/turnd/terminal.socket" "${SERVE[@]}")
    # The front knows no key: its environment is empty. nginx does not remove the sockets of one that was killed.
    local front=(env -i /bin/sh -c 'ulimit -n "$(ulimit -H -n)"; rm -f "$0"/*.socket; exec env -i /usr/sbin/nginx -e stderr -c "$1"'
        "$RUN/nginx" "$SANDBOX/nginx.conf") hold=()
    [ "$SELF" = "$FRONT_ID" ] || front=("${WITHOUT_RIGHTS[@]}" --reuid="$FRONT_ID" --regid="$FRONT_GROUP_ID" -- "${front[@]}")
    if [ "$TURND_REUSE_PORT" = on ]; then
        # On every address: a program that listens on the container's own would receive requests meant for turnd.
        hold=("$SANDBOX/hold-ports" "$SELF:0.0.0.0:8091" "$SELF:0.0.0.0:6080" "$FRONT_ID:0.0.0.0:$PORT")
        ! grep -qF '[::]' "$RUN/listen.conf" || hold+=("$SELF::::8091" "$SELF::::6080" "$FRONT_ID::::$PORT")
        hold+=(--)
    fi
    exec "${hold[@]}" "$SANDBOX/supervise" "$USER_ID" "$FRONT_ID" turnd: "${turnd[@]}" front: "${front[@]}"
}

SERVE=(turnd serve)
case ${1:-} in
--scripted)
    SERVE+=(--scripted)
    shift
    [ $# = 0 ] || fault 16 "--scripted takes no command, got $1"
    ;;
-*) fault 16 "$1 is no option: give --scripted, a command that runs instead of turnd, or nothing" ;;
esac
check_user
check_places
check_home
check_users_directory 13 workspace "$WORKSPACE"
check_tmp
render_configurations
if [ $# -gt 0 ]; then
    unset TURND_TOKEN TURND_TOKEN_FILE
    export HOME=$HOME_DIRECTORY USER=sandbox LOGNAME=sandbox SHELL=/bin/bash
    as "$USER_ID" "$GROUP_ID" "$@"
fi
check_token_file
check_state
plan_holding
render_front
TOKEN=${TURND_TOKEN:-${TURND_TOKEN_FILE:-}}
[ -n "$TOKEN" ] ||
    say "warning: no TURND_TOKEN: whoever reaches port $PORT can run turns and open a shell; publish it to loopback alone, or behind your own authentication"
case $(readlink -f /usr/local/bin/opencode) in
*/opencode-linux-x64/*) grep -qw avx2 /proc/cpuinfo || say "warning: this CPU has no AVX2: CLI A dies of an illegal instruction; build with --build-arg CLI_A_CPU=baseline" ;;
esac
serve
