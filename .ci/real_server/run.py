"""Tests against a real inference server: `python .ci/real_server/run.py`.

llama.cpp's server (`llama-cpp-python`, built from its package: ten minutes of a processor) lives in a virtual
environment of its own below `.venv`, and serves a tiny model that is made on the spot (`tiny_model.py`). The tests of
`tests/real_server` run in our own environment and start it. They are not part of the ordinary test command. Ends with
1 if a test failed.

`WHYSTOP_REAL_SERVER_HOME`: another folder for that environment, such as one where it is built already.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
HOME = Path(os.environ.get("WHYSTOP_REAL_SERVER_HOME") or CHECKOUT / ".venv" / "real_server")
SECONDS = 600  #: for all tests

#: A tiny model needs no fast code: without optimizing and the parts that serve no text, the build takes half the time.
BUILD = {
    "CMAKE_ARGS": "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_FLAGS_RELEASE=-O2 -DLLAVA_BUILD=OFF -DGGML_OPENMP=OFF",
    "CMAKE_BUILD_PARALLEL_LEVEL": "2",
}


def environment() -> Path:
    """The python of the server's environment, made if it is not there."""
    python, wanted = HOME / "bin/python", HERE / "requirements.txt"
    imports = [python, "-c", "import gguf, llama_cpp.server"]
    if not python.exists() or subprocess.run(imports, check=False, capture_output=True).returncode != 0:
        shutil.rmtree(HOME, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        install = [python, "-m", "pip", "install", "-q", "-r", wanted]
        subprocess.run(install, check=True, env=BUILD | os.environ)
    return python


def main() -> None:
    told = {
        "WHYSTOP_REAL_SERVER": str(environment()),
        "WHYSTOP_TINY_MODEL": str(HERE / "tiny_model.py"),
    }
    tests = [sys.executable, "-m", "pytest", "-q", "tests/real_server"]
    done = subprocess.run(tests, cwd=CHECKOUT, env={**os.environ, **told}, timeout=SECONDS, check=False)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
