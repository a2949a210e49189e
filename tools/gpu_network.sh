#!/usr/bin/env bash
# Runs a command over NVSHMEM's remote transport between the GPUs of one machine, as over a network: kernels ask the proxy
# thread, UCX sends over TCP, and the peer's proxy thread receives.  No pointer reaches a peer.  For tests, not for speed:
# the heap is in pinned memory of the host, because nothing else lets a CPU send from it without an RDMA card.
#
#   pip install libucx-cu13                  (or -cu12: as the CUDA version of the other packages)
#   tools/gpu_network.sh mpirun -np 2 python3 -m pytest tests --only-mpi
#   NODES=2 tools/gpu_network.sh mpirun -np 4 --mca btl tcp,self python3 program.py
#
# NODES=N (root): N hosts of namespaces, each with its own name and /dev/shm, and an equal share of the ranks.  Pointers
#          reach the PEs of a node and NVSHMEM's puts the others.  With more PEs than GPUs start MPS first.
# UCX=DIR  a folder with libucp.so.0 and its neighbours, ucx/*.so.0, and NVSHMEM's nvshmem_transport_ucx.so, where they are
#          not installed by pip.
# The variables below may be set otherwise.  Users of a cluster need none of this.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
nodes=()
trap 'kill ${nodes[@]+"${nodes[@]}"} 2>/dev/null || true; rm -rf "$made"' EXIT

cc -shared -fPIC -O1 -w -Wl,-soname,libgdrapi.so.2 -o "$made/libgdrapi.so.2" "$here/gpu_network.c" -ldl
if [ -z "${UCX:-}" ]; then
    folders=$(python3 -c 'import site, sysconfig; print(sysconfig.get_paths()["purelib"], *site.getsitepackages())')
    for folder in $folders; do
        [ ! -e "$folder/libucx/lib/libucp.so.0" ] || { UCX=$folder/libucx/lib; break; }
    done
    [ -n "${UCX:-}" ] || { echo "no UCX with CUDA: pip install libucx-cu13, or name its folder by UCX" >&2; exit 1; }
fi
export LD_LIBRARY_PATH="$made:$UCX${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" UCX_MODULE_DIR="$UCX/ucx"
# libucp beside the stand-in: the transport is opened privately, and the calls that are passed on would find no function.
export LD_PRELOAD="$made/libgdrapi.so.2:$UCX/libucp.so.0${LD_PRELOAD:+:$LD_PRELOAD}"
export NVSHMEM_REMOTE_TRANSPORT=ucx NVSHMEM_HEAP_KIND=SYSMEM NVSHMEM_IB_ENABLE_IBGDA=0 NVSHMEM_DISABLE_NVLS=1
export NVSHMEM_DISABLE_MNNVL=1 NVSHMEM_DISABLE_P2P=$((${NODES:-1} == 1)) NVSHMEM_SYMMETRIC_SIZE=${NVSHMEM_SYMMETRIC_SIZE:-1G}
export NVSHMEM_TLS="${NVSHMEM_TLS:-tcp,cuda_copy}" UCX_NET_DEVICES=${UCX_NET_DEVICES:-lo} UCX_WARN_UNUSED_ENV_VARS=n
export PENNYMPI_MULTICAST=0 PENNYMPI_HEAP=device

if [ "${NODES:-1}" = 1 ]; then
    "$@"
    exit
fi
for node in $(seq 0 $((NODES - 1))); do
    unshare --uts --mount sh -c "hostname node$node && mount -t tmpfs none /dev/shm && exec sleep 86400" &
    nodes+=($!)
done
sleep 0.3
# The launcher starts the ranks through this program, which takes each into its node.
cat >"$made/rank" <<R
#!/bin/bash
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} size=\${OMPI_COMM_WORLD_SIZE:-\$PMI_SIZE} nodes=(${nodes[*]})
exec nsenter --uts --mount --target "\${nodes[rank * $NODES / size]}" env --chdir="\$PWD" "\$@"
R
chmod +x "$made/rank"
launcher=()
while [ $# -gt 0 ]; do
    case $1 in
    python* | sh | bash) break ;;
    esac
    launcher+=("$1")
    shift
done
"${launcher[@]}" "$made/rank" "$@"
