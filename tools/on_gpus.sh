#!/usr/bin/env bash
# What has to be run where there are GPUs: the tests, the solver and the measurements, with this shell's python3 and mpirun.
#   tools/on_gpus.sh OUT [STEP ...]    logs and JSON go to the folder OUT; steps: bench tests jacobi solver mps (all, when none is named),
#                                      network (NVSHMEM's remote transport, see gpu_network.sh), host-heap (GPUs that reach only the host's memory)
set -u
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
gpus=$(python3 -c 'import cupy; print(cupy.cuda.runtime.getDeviceCount())')
steps=${*:-bench tests jacobi solver mps}
tests() { # name, ranks, pytest arguments: every rank's output in OUT, the end of rank 0's here
    local name=$1 ranks=$2
    shift 2
    timeout "${LIMIT_S:-200}" ${THROUGH:-} mpirun --bind-to none -np "$ranks" sh -c 'r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; f=$0.$r.txt
        exec python3 -m pytest tests --only-mpi -q --color=no --maxfail=20 --durations=5 --basetemp "$0.$r.tmp" "$@" >"$f" 2>&1' \
        "/tmp/$name" "$@" >"$out/$name.mpirun.txt" 2>&1
    echo "== $name, $ranks PEs: status $?, $(grep -hE '^[0-9]+ (passed|failed)|(passed|failed).* in ' "/tmp/$name.0.txt" | tail -1)"
    cp "/tmp/$name.0.txt" "/tmp/$name.$((ranks - 1)).txt" "$out"
}
forced() { PENNYMPI_FORCE_NVSHMEM_PUT=1 tests forced 2 -k "allreduce or rma or exchange"; }
for step in $steps; do
    case $step in
    bench) mpirun -np "$gpus" python3 -m pennympi bench allreduce -e 1G --against nccl,nccl-symmetric \
        --output "$out/allreduce-${gpus}gpus.json" | tee "$out/bench.txt" | tail -22 ;;
    tests) # as many at once as there are GPUs for: 1 beside 3, 2 beside the forced puts, then 4
        for n in $(seq 1 $((gpus / 2))); do
            CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((n - 1))) tests "np$n" "$n" &
            if [ $((gpus - n)) -gt "$n" ]; then
                CUDA_VISIBLE_DEVICES=$(seq -s, "$n" $((gpus - 1))) tests "np$((gpus - n))" $((gpus - n)) &
            elif [ "$gpus" = 4 ]; then
                CUDA_VISIBLE_DEVICES=2,3 forced &
            fi
            wait
        done
        [ "$gpus" = 1 ] || tests "np$gpus" "$gpus"
        [ "$gpus" = 4 ] || forced ;;
    forced) forced ;;
    network) THROUGH=tools/gpu_network.sh LIMIT_S=${LIMIT_S:-900} tests network 2 -k "rma or exchange or symmetric or allreduce or collectives or plan" ;;
    host-heap) PENNYMPI_HEAP=host tests host-heap 2 ;;
    jacobi) mpirun -np "$gpus" python3 -m apps.jacobi --verify | tee "$out/jacobi.txt" | tail -6 ;;
    solver) # both checks, and a checkpoint that one PE goes on from
        line="--no-serial --nx 4096 --ny 4096 --bc periodic --nccheck 10"
        for variant in nvshmem_overlap blocked resident; do
            for check in serial analytic; do
                mpirun -np "$gpus" python3 -m apps.jacobi $line --variant $variant --verify $check
            done
            mpirun -np "$gpus" python3 -m apps.jacobi $line --variant $variant --niter 400 --checkpoint "/tmp/$variant.h5" --checkpoint-every 150
            mpirun -np 1 python3 -m apps.jacobi --niter 700 --restart "/tmp/$variant.h5" --no-serial --verify serial
        done >"$out/solver.txt" 2>&1
        grep -E "^(PASS|FAIL|Stopped)" "$out/solver.txt" ;;
    mps) # more PEs than GPUs; the shares of the PEs of one GPU must not exceed 100 %
        export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog NVSHMEM_SYMMETRIC_SIZE=2G
        mkdir -p /tmp/mps /tmp/mpslog
        nvidia-cuda-mps-control -d
        export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$((100 * gpus / 16 - 1))
        mpirun -np 16 --oversubscribe python3 -m apps.jacobi --verify | tee "$out/jacobi16.txt" | tail -3
        tests np16 16
        echo quit | nvidia-cuda-mps-control ;;
    esac
done
