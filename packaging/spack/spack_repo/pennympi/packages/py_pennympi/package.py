"""Spack's package of pennympi.  Its version and requirements are those of setup.cfg."""

from spack.package import depends_on, join_path, license, maintainers, variant, version, which
from spack_repo.builtin.build_systems.python import PythonPackage


class PyPennympi(PythonPackage):
    """GPU-to-GPU communication for MPI programs in Python: symmetric arrays, puts, signals and collectives."""

    homepage = "https://github.com/pennympi/pennympi"
    git = "https://github.com/pennympi/pennympi.git"

    maintainers("pennympi")
    license("MIT", checked_by="pennympi")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("plot", default=False, description="Plots of the solver and the bench")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("mpi", type="run")
    depends_on("py-mpi4py@4.1:4", type=("build", "run"))
    depends_on("py-numpy@2.1:", type=("build", "run"))
    depends_on("py-numba@0.65:0.68", type=("build", "run"))
    depends_on("py-h5py@3.12:3", type=("build", "run"))
    depends_on("py-ml-dtypes@0.5:0.6", type=("build", "run"))
    depends_on("py-platformdirs@4.3:4", type=("build", "run"))
    depends_on("py-tomli-w@1.2:1", type=("build", "run"))
    depends_on("py-matplotlib@3.9:", type=("build", "run"), when="+plot")

    import_modules = ["pennympi"]

    def test_solver(self):
        """The solver on one PE has the field that NumPy computes."""
        solver = which(join_path(self.prefix.bin, "pennympi-jacobi"), required=True)
        solver("--nx", "64", "--ny", "64", "--niter", "20", "--verify")
