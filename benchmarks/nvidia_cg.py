"""Build cg_double and cg_float (see nvidia.py) from the source of NVIDIA's sample conjugateGradientMultiBlockCG.

    python benchmarks/nvidia_cg.py cuda-samples/.../conjugateGradientMultiBlockCG.cu DIR [nvcc]

The kernel is the sample's, on the sample's managed memory, launched as the sample launches it.  Changed are the
number of iterations, which is given; the type, float or double; and the matrix, that of seven points of a cube.
"""

import re
import subprocess
import sys
from pathlib import Path

from nvidia import DIFFERENCE

MAIN = r"""
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

template <class T> T *managed(size_t n) { T *x; cudaMallocManaged(&x, n * sizeof(T)); return x; }

int main(int argc, char **argv)
{
    int n = atoi(argv[1]), most = atoi(argv[2]), runs = atoi(argv[3]), N = n * n * n, nz = 0, sms, blocks;
    int *I = managed<int>(N + 1), *J = managed<int>(7ul * N);
    REAL *val = managed<REAL>(7ul * N), *x = managed<REAL>(N), *Ax = managed<REAL>(N), *p = managed<REAL>(N);
    REAL *r = managed<REAL>(N), tol = 0;
    double *dot = managed<double>(1);
    for (int k = 0; k < N; k++) {
        int at[3] = {k / n / n, k / n % n, k % n}, step[3] = {n * n, n, 1};
        I[k] = nz;
        J[nz] = k, val[nz++] = 6;
        for (int d = 0; d < 3; d++) {
            if (at[d] > 0) J[nz] = k - step[d], val[nz++] = -1;
            if (at[d] < n - 1) J[nz] = k + step[d], val[nz++] = -1;
        }
    }
    I[N] = nz;
    cudaMemcpyToSymbol(iterations, &most, sizeof most);
    void *args[] = {&I, &J, &val, &x, &Ax, &p, &r, &dot, &nz, &N, &tol};
    int bytes = sizeof(double) * (THREADS_PER_BLOCK / 32 + 1);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gpuConjugateGradient, THREADS_PER_BLOCK, bytes);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    std::vector<float> us;
    for (int run = 0; run <= runs; run++) {
        for (int k = 0; k < N; k++) r[k] = 1, x[k] = 0;
        *dot = 0;
        for (int turn = 0; turn < 2; turn++) {  // the first one of no iteration: it moves the pages to the GPU
            int now = turn ? most : 0;
            cudaMemcpyToSymbol(iterations, &now, sizeof now);
            cudaMemset(dot, 0, sizeof(double));
            cudaEventRecord(start);
            cudaLaunchCooperativeKernel((void *)gpuConjugateGradient, sms * blocks, THREADS_PER_BLOCK, args, bytes, 0);
            cudaEventRecord(stop);
            if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        }
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        if (run) us.push_back(ms * 1e3f / most);
    }
    std::sort(us.begin(), us.end());
    double found = 0, anew = 0;
    for (int k = 0; k < N; k++) {
        double left = 1;
        for (int j = I[k]; j < I[k + 1]; j++) left -= (double)val[j] * x[J[j]];
        found += (double)r[k] * r[k], anew += left * left;
    }
    printf("cg, %s, %d, %d, %g, %e, %e\n", sizeof(REAL) == 8 ? "double" : "float", n, most, us[us.size() / 2],
           sqrt(found), sqrt(anew));
}
"""


def text(sample, kind):
    """The program."""
    kernels = sample[: sample.index("bool areAlmostEqual(")]
    kernels = re.sub(r'#include\s+[<"](helper|cuda_runtime_api)[^\n]*\n', "", kernels)
    before, after = kernels.split('extern "C" __global__')
    after, changed = re.subn(r"int max_iter = \d+;", "int max_iter = iterations;", after)
    if changed != 1:
        raise SystemExit("the sample's kernel is another one")
    kernels = before + '__device__ int iterations;\n\nextern "C" __global__' + after
    return re.sub(r"\bfloat\b", kind, kernels) + MAIN.replace("REAL", kind)


def main(source, folder, nvcc="nvcc"):
    for kind in DIFFERENCE:
        made = Path(folder) / f"cg_{kind}"
        made.with_suffix(".cu").write_text(text(Path(source).read_text(), kind))
        subprocess.run([nvcc, "-O3", "-arch=sm_90", "-o", made, made.with_suffix(".cu")], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
