#!/usr/bin/env bash
# Several hosts on this machine, for one command whose plain mpirun (MPICH's or Open MPI's) starts its ranks on them:
#
#   tools/hosts.sh 2 mpirun -np 16 python -m apps.jacobi --verify         8 ranks on host0, 8 on host1
#
#   SLOTS=8      ranks of a host (the command's -np or -n divided by the hosts; 1 where it has none)
#   RATE=1gbit   what each host's link carries (no limit)     BURST=256k   what it carries at once after a pause
#
# A host is a set of namespaces: an address, a name, a /dev/shm, semaphores and process numbers of its own, and one
# interface, eth0, that leads by a bridge ("port0" is the port of host0) to the other hosts and nowhere else.  The files
# and the environment are this machine's.  The command runs beside the hosts, on "login", which sees the processes of all;
# there `$HOSTS host1 COMMAND` runs a command on host1, as ssh would.  When the command ends, all of it is gone.
set -euo pipefail

if [ -n "${HOSTS:-}" ] && [[ ${1:-} != [0-9]* ]]; then # mpirun's ssh: hosts.sh [-option ...] HOST COMMAND ...
    while [[ $1 == -* ]]; do shift; done
    pid=$(cat "$HOSTS_DIR/$1.pid") && export TMPDIR="$HOSTS_DIR/$1" # Open MPI names files by process numbers
    exec nsenter -t "$pid" -n -u -m -i -p -- sh -c "${*:2}"
fi
[ $# -ge 2 ] && [[ $1 =~ ^[1-9][0-9]*$ ]] || { echo "usage: tools/hosts.sh N COMMAND ..." >&2; exit 2; }

if [ -z "${HOSTS:-}" ]; then # the machine: become "login", the first process of namespaces that end with it
    spaces=(--net --uts --ipc --mount --pid --fork --kill-child --mount-proc)
    # Not root, or root of a container: user namespaces may do.
    if ! unshare "${spaces[@]}" true 2>/dev/null; then spaces+=(--user --map-root-user); fi
    if ! why=$(unshare "${spaces[@]}" ip link add switch type bridge 2>&1); then
        echo "hosts.sh: no hosts here: this machine refuses namespaces or a bridge (${why##*$'\n'}): run it as" \
            "root, in a container with --privileged; or let PENNYMPI_NODE split one host (docs/guides/hosts.md)" >&2
        exit 125
    fi
    HOSTS_DIR=$(mktemp -d) && trap 'rmdir "$HOSTS_DIR"' EXIT
    export HOSTS_DIR
    HOSTS=$(realpath "$0") setpriv --pdeathsig KILL unshare "${spaces[@]}" bash "$0" "$@" <&0 &
    wait $! # rather than exec: unshare would not hear a signal that ends this script
    exit
fi

n=$1 net=192.0.2 # addresses for examples
shift
ranks=1 before=
for word; do
    [[ $before =~ ^--?n(p|tasks)?$ && $word =~ ^[0-9]+$ ]] && ranks=$word && break
    before=$word
done
slots=${SLOTS:-$(((ranks + n - 1) / n))}

hostname login
mount -t tmpfs tmpfs "$HOSTS_DIR" # what the hosts share, gone with the namespace
mount -t tmpfs -o size=4g tmpfs /dev/shm
ip link set lo up
ip link add switch type bridge
ip link set switch up
ip addr add "$net.254/24" dev switch
names="127.0.0.1 localhost"$'\n'"$net.254 login"
for ((i = 0; i < n; i++)); do names+=$'\n'"$net.$((i + 1)) host$i"; done
echo "$names" >"$HOSTS_DIR/names"
mount --bind "$HOSTS_DIR/names" /etc/hosts

for ((i = 0; i < n; i++)); do
    host=host$i
    # shellcheck disable=SC2016
    unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc bash -c '
        hostname "$1"; mount -t tmpfs -o size=4g tmpfs /dev/shm; ip link set lo up; mkdir "$2"; sleep infinity & wait' \
        bash "$host" "$HOSTS_DIR/$host" &
    until [ -d "$HOSTS_DIR/$host" ]; do sleep 0.02; done
    read -r -d " " pid <"/proc/$!/task/$!/children"
    echo "$pid" >"$HOSTS_DIR/$host.pid"
    ip link add "port$i" type veth peer name eth0 netns "$pid"
    ip link set "port$i" master switch up
    nsenter -t "$pid" -n sh -c "ip addr add $net.$((i + 1))/24 dev eth0; ip link set eth0 up"
    if [ -n "${RATE:-}" ]; then
        limit=(root tbf rate "$RATE" burst "${BURST:-256k}" latency 1s)
        tc qdisc add dev "port$i" "${limit[@]}"
        nsenter -t "$pid" -n tc qdisc add dev eth0 "${limit[@]}"
    fi
    echo "$host:$slots" >>"$HOSTS_DIR/mpich"
    echo "$host slots=$slots" >>"$HOSTS_DIR/openmpi"
done

export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$HOSTS" HYDRA_HOST_FILE="$HOSTS_DIR/mpich"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_plm_ssh_agent="$HOSTS" PRTE_MCA_plm_ssh_no_tree_spawn=1 # Open MPI 5; below, 4
export PRTE_MCA_prte_default_hostfile="$HOSTS_DIR/openmpi"
export PRTE_MCA_rmaps_default_mapping_policy=slot PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_plm_rsh_agent="$HOSTS" OMPI_MCA_plm_rsh_no_tree_spawn=1
export OMPI_MCA_orte_default_hostfile="$HOSTS_DIR/openmpi"
"$@"
