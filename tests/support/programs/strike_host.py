"""strike_host.py STRIKE COMMAND...: runs a command with the hosts of tools/hosts.sh, and strikes host1 at its "ready".

STRIKE: none; down: host1's link goes down; down-2: for two seconds
Prints "fault <time>" when it strikes, and five seconds after the command "left on <host>: ..." for processes that still
run there, and files in its /dev/shm.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["HOSTS_DIR"])
LEFT_S = 5.0


def link(state):
    subprocess.run(["ip", "link", "set", "port1", state], check=True)


def down_for_two_seconds():
    link("down")
    time.sleep(2)
    link("up")


STRIKES = {"none": lambda: None, "down": lambda: link("down"), "down-2": down_for_two_seconds}


def left_on(host):
    """What still runs on a host, except its first process and its sleep, and the library's files in /dev/shm."""
    first, left = int((FOLDER / f"{host}.pid").read_text()), []
    try:
        space = os.readlink(f"/proc/{first}/ns/pid")
        left += [name for name in os.listdir(f"/proc/{first}/root/dev/shm") if name.startswith("pennympi")]
    except OSError:
        return []  # the host has ended
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns" / "pid") == space and (process / "stat").read_text().split()[2] != "Z":
                left.append((process / "cmdline").read_text().replace("\0", " ").strip())
        except OSError:
            pass  # the process has ended
    return [what for what in left if what != "sleep infinity" and "sleep infinity & wait" not in what]


def main():
    strike, command = sys.argv[1], sys.argv[2:]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in job.stdout:
        print(line, end="", flush=True)
        if line.strip() == "ready":
            print("fault", time.time(), flush=True)
            STRIKES[strike]()
    status = job.wait()
    print(f"\nended {time.time()}", flush=True)  # mpirun may not have ended its last line
    hosts, limit_s = sorted(path.stem for path in FOLDER.glob("*.pid")), time.monotonic() + LEFT_S
    while any(map(left_on, hosts)) and time.monotonic() < limit_s:
        time.sleep(0.1)
    for host in hosts:
        if left := left_on(host):
            print(f"left on {host}: {', '.join(left)}", flush=True)
    sys.exit(status if status >= 0 else 128 - status)


main()
