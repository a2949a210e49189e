"""A stand-in for CuPy on machines without GPUs: arrays in shared memory that another process opens by a handle.

It has only what pennympi.mpi calls.  A copy ends some polls after it began, and writes its bytes then.
"""

import mmap
import os
import weakref
from types import SimpleNamespace

import numpy as np
from cuda.bindings import driver

__version__ = "13.0"
_allocations = {}  # start: (end, number, path, mapping)
_numbers = iter(range(1, 1 << 40))
POLLS = 3


class ndarray:
    def __init__(self, shape, dtype="float64", memptr=None):
        dtype = np.dtype(dtype)
        n_bytes = int(np.prod(shape)) * dtype.itemsize
        self.data = memptr or MemoryPointer(_allocate(n_bytes), 0)
        self.host = np.ndarray(shape, dtype, self.data.bytes(n_bytes))
        self.device = Device(0)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.host, name)

    def __dlpack__(self, stream=None):
        return self.host.__dlpack__()

    def _like(self, host):
        new = object.__new__(ndarray)
        address = host.__array_interface__["data"][0]
        new.host, new.device, new.data = host, self.device, MemoryPointer(self.data.mem, address - self.data.mem.ptr)
        return new

    def __getitem__(self, key):
        return self._like(self.host[key, ...])  # an element is an array, too

    def item(self):
        return self.host.item()

    def __int__(self):
        return int(self.host)

    def __float__(self):
        return float(self.host)

    def __complex__(self):
        return complex(self.host)

    def __setitem__(self, key, value):
        self.host[key] = value.host if isinstance(value, ndarray) else value

    def __eq__(self, value):
        return self.host == (value.host if isinstance(value, ndarray) else value)

    __hash__ = None

    def __len__(self):
        return len(self.host)

    def view(self, dtype):
        return self._like(self.host.view(dtype))

    def ravel(self, order="C"):
        return self._like(self.host.ravel(order))

    def reshape(self, *shape):
        return self._like(self.host.reshape(*shape))

    def get(self, out=None):
        if out is None:
            return self.host.copy()
        out[...] = self.host
        return out

    def set(self, host):
        self.host[...] = host

    def copy(self):
        new = ndarray(self.host.shape, self.host.dtype)
        new.host[...] = self.host
        return new

    def __dlpack_device__(self):
        return 2, 0

    @property
    def __cuda_array_interface__(self):
        return self.host.__array_interface__ | {"version": 2}


def _allocate(n_bytes):
    fd = os.memfd_create("stand_in", os.MFD_CLOEXEC)
    size = max(4096, n_bytes)
    os.ftruncate(fd, size)
    mapping = mmap.mmap(fd, size)
    start = np.frombuffer(mapping, "uint8").ctypes.data
    _allocations[start] = start + size, next(_numbers), f"/proc/{os.getpid()}/fd/{fd}", fd
    memory = Memory(start, size, mapping)
    weakref.finalize(memory, _free, start)
    return memory


def _free(start):
    os.close(_allocations.pop(start)[3])


class Memory:
    def __init__(self, ptr, size, owner, device_id=0):
        self.ptr, self.size, self.owner = ptr, size, owner


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset

    device_id = 0

    def __add__(self, n_bytes):
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + n_bytes)

    def bytes(self, n_bytes):
        return _bytes_at(self.ptr, n_bytes)


def _bytes_at(address, n_bytes):
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address)) if n_bytes else np.empty(0, "uint8")


def full(shape, value, dtype="float64"):
    new = ndarray(shape, dtype)
    new.host[...] = value
    return new


def empty(shape, dtype="float64"):
    return ndarray(shape, dtype)


def zeros(shape, dtype="float64"):
    return full(shape, 0, dtype)


def asarray(x, dtype=None):
    if dtype in ("g", "G"):
        raise ValueError("CuPy has no long double")
    if isinstance(x, ndarray):
        return x
    if isinstance(x, list):
        x = [value.host if isinstance(value, ndarray) else value for value in x]
    new = ndarray(np.shape(x), np.asarray(x, dtype).dtype)
    new.host[...] = x
    return new


array = asarray


def from_dlpack(x):
    if isinstance(x, ndarray):
        return x
    methods = {"__dlpack__": lambda self, **options: x.__dlpack__(), "__dlpack_device__": lambda self: (1, 0)}
    host = np.from_dlpack(type("OnHost", (), methods)())  # which can't be written
    memory = Memory(host.__array_interface__["data"][0], host.nbytes, x)
    return ndarray(host.shape, host.dtype, MemoryPointer(memory, 0))


class Device:
    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def use(self):
        return self


class Event:
    def __init__(self, **options):
        self._stream = None

    def record(self, stream):
        self._stream, self._at, self._polls = stream, len(stream.work), 0

    @property
    def done(self):
        self._polls += 1
        if self._polls >= POLLS:
            self._stream.run(self._at)
        return self._stream.ran >= self._at


class Stream:
    def __init__(self, **options):
        self.work, self.ran, self.ptr = [], 0, id(self)
        _streams[self.ptr] = self

    def run(self, until):
        for k in range(self.ran, until):
            to, source, n_bytes = self.work[k]
            _bytes_at(to, n_bytes)[...] = _bytes_at(source, n_bytes)
        self.ran = max(self.ran, until)

    def wait_event(self, event):
        assert event._stream is not None

    done = True

    def synchronize(self):
        self.run(len(self.work))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


_streams = {}
_current = Stream()


class CUDARuntimeError(RuntimeError):
    pass


def _handle(start):
    path = _allocations[start][2].encode()
    return path.ljust(64, b"\0")


_mapped = {}


def _open(handle):
    fd = os.open(handle.rstrip(b"\0").decode(), os.O_RDWR)
    mapping = mmap.mmap(fd, 0)
    os.close(fd)
    start = np.frombuffer(mapping, "uint8").ctypes.data
    _mapped[start] = mapping
    return start


def _range(address):
    for start, (end, *_) in _allocations.items():
        if start <= address < end:
            return driver.CUresult.CUDA_SUCCESS, start, end - start
    return driver.CUresult.CUDA_ERROR_NOT_FOUND, 0, 0


def _attribute(which, address):
    if address in _allocations:
        return driver.CUresult.CUDA_SUCCESS, _allocations[address][1]
    return driver.CUresult.CUDA_ERROR_INVALID_VALUE, 0


driver.cuMemGetAddressRange, driver.cuPointerGetAttribute = _range, _attribute
runtime = SimpleNamespace(
    memcpyDefault=4,
    memcpyAsync=lambda to, source, n_bytes, kind, stream: _streams[stream].work.append((to, source, n_bytes)),
    ipcGetMemHandle=_handle,
    ipcOpenMemHandle=_open,
    ipcCloseMemHandle=lambda start: _mapped.pop(start),
    CUDARuntimeError=CUDARuntimeError,
    pointerGetAttributes=lambda address: SimpleNamespace(type=0 if _range(address)[0] else 2),
    is_hip=False,
    getDevice=lambda: 0,
    getDeviceCount=lambda: 1,
    deviceCanAccessPeer=lambda device, peer: False,
    getDeviceProperties=lambda device: {"uuid": b"a stand-in's GPU"},
)
cuda = SimpleNamespace(
    runtime=runtime, Device=Device, Event=Event, Stream=Stream, get_current_stream=lambda: _current,
    UnownedMemory=Memory, MemoryPointer=MemoryPointer, is_available=lambda: True,
)  # fmt: skip
