"""Clusters: by their address, for the command line, and as what runs tasks on them."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from types import FrameType
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ..collect.counting import Partial
from ..errors import MissingExtraError, ParameterError, TransportError

#: Engines of several machines.
CLUSTERS = ("dask", "spark")
_HINTS = {
    **{name: f"; `scale.connected({name!r}, address)` opens one" for name in CLUSTERS},
    "cuda": "; a GPU counts inside `with scale.counting('cuda')`",
}
PATIENCE = 10.0  # seconds until an address must answer
_PORTS = {"sc": 15002, "spark": 7077}  # where an address has none

#: The results of one item, computed with what all items share; an error is a result, too.
Task: TypeAlias = Callable[[Any, Any], "list[Partial]"]
#: Does a task for each item: `run(task, shared, items, size)`, where the results of an item have
#: about `size` bytes if they are many; results come in any order, and perhaps more than once.
Runner: TypeAlias = Callable[..., "Iterator[Partial]"]


def runner_of(engine: Any, here: str) -> Runner:
    """What runs tasks on a cluster; `here` says what None would do instead."""
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(engine).__mro__}
    if ("distributed", "Client") in kinds:
        from .dask import on_dask

        if getattr(engine, "asynchronous", False):
            raise ParameterError("the Dask client is asynchronous; give one that is not")
        return partial(on_dask, engine)
    if ("pyspark", "SparkSession") in kinds:
        from .spark import on_spark

        return partial(on_spark, engine)
    hint = _HINTS.get(engine, "") if isinstance(engine, str) else ""
    raise ParameterError(
        f"engine is {engine!r:.80}; give a dask.distributed.Client, a SparkSession, or None {here}"
        + hint
    )


@contextmanager
def connected(engine: str, address: str | None = None) -> Iterator[Any]:
    """A client or session for `aggregate`, closed at the end.

    Parameters
    ----------
    engine : {"dask", "spark"}
        What runs on the cluster.
    address : str, optional
        The scheduler, such as ``tcp://host:8786``; Spark's master (``spark://host:7077``,
        ``local[4]``, ``yarn``) or a Spark Connect server (``sc://host``). By default Dask starts
        workers on this machine, and Spark uses what its own configuration says.
    """
    if engine not in CLUSTERS:
        raise ParameterError(
            f"there is no cluster engine {engine!r}; available: {', '.join(map(repr, CLUSTERS))}"
        )
    if address is not None:
        # A scheduler of Dask speaks first unless it has TLS, and clients wait for that for ever.
        _try(address, greets=engine == "dask" and not address.startswith(("tls", "ws")))
    with (_dask if engine == "dask" else _spark)(address) as cluster:
        yield cluster


def _try(address: str, *, greets: bool) -> None:
    """Refuse an address where nobody answers: the engines themselves would wait for minutes."""
    if ":" not in address or address.startswith(("k8s", "inproc")):
        return  # no host and port: a manager that Spark knows, or this process
    shown = _without_secrets(address, address)
    scheme, _, hosts = shown.rpartition("://")
    reasons = []
    for host in hosts.split(","):  # Spark may have several masters
        parts = urlsplit(f"//{host}")
        try:
            target = (parts.hostname, parts.port or _PORTS.get(scheme, 8786))
            with socket.create_connection(target, timeout=PATIENCE) as connection:
                if not greets or connection.recv(1):
                    return
                reasons.append("it hangs up")
        except (OSError, ValueError) as error:
            reasons.append(str(error))
    raise TransportError(
        f"no cluster answers at {shown!r} ({'; '.join(reasons)}); check the address, and that the "
        "cluster runs"
    )


def _without_secrets(text: str, address: str) -> str:
    """A text that may have an address in it, without its user and the options of Spark Connect."""
    user = re.match(r"(\w+://)?([^/]*@)?", address)
    secrets = [user[2] if user else None, *re.split("[;?]", address)[1:]]
    for secret in filter(None, secrets):
        text = text.replace(secret, "")
    return text.rstrip("/;?")


@contextmanager
def _dask(address: str | None) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError.of("distributed", "dask", "counting on Dask") from error
    # An error is raised, and need not be logged with its trace as well.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    own: Any = nullcontext(address) if address is not None else _workers_here(LocalCluster)
    with own as cluster:
        try:
            client = Client(cluster, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            problem = f"there is no Dask scheduler at {address!r} ({error}); check the address"
            raise TransportError(_without_secrets(problem, address or "")) from error
        with client:
            yield client


@contextmanager
def _workers_here(kind: Any) -> Iterator[Any]:
    """A cluster of worker processes of this machine.

    A terminal sends Ctrl-C to all of them, and each would print a traceback. Threads and processes
    that begin while the signal is blocked never see it; here it waits until there is something
    that can be closed.
    """
    from multiprocessing import resource_tracker

    from ..parallel import cores

    resource_tracker.ensure_running()  # else the first process would start it, which unblocks
    with _interrupts_wait() as let_them:
        try:
            cluster = kind(
                n_workers=cores(),
                threads_per_worker=1,
                dashboard_address=None,
                # Its server listens all the same, on a port that others may use.
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.ERROR,
            )
        except RuntimeError as error:
            raise TransportError(
                f"Dask's workers do not start ({error}); each imports the script that starts them, "
                'so this must be below `if __name__ == "__main__":`'
            ) from error
        with cluster:
            let_them()
            yield cluster


@contextmanager
def _interrupts_wait() -> Iterator[Callable[[], object]]:
    """Block Ctrl-C in this thread until the end, or until what is yielded is called."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield lambda: None
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    restore = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
    try:
        yield restore
    finally:
        restore()


@contextmanager
def _spark(address: str | None) -> Iterator[Any]:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError.of("pyspark", "spark", "counting on Spark") from error
    if SparkSession.getActiveSession() is not None:  # it would be taken instead, and stopped
        raise ParameterError(
            "this process has a Spark session already; pass it as `engine`, or stop it first"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sottovoce aggregate")
    if address is not None and address.startswith("sc://"):
        builder = builder.remote(address)
    else:
        quiet = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
        for name, value in quiet.items():
            builder = builder.config(name, value)
        if address is not None:
            builder = builder.master(address)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # of Spark, or of what joins Java to Python
        raise TransportError(
            f"Spark does not start ({_reason(error, address)}); it needs Java 17, and the address "
            "of a cluster that runs"
        ) from error
    try:
        with _ctrl_c_ends():
            yield session
    finally:
        session.stop()


@contextmanager
def _ctrl_c_ends() -> Iterator[None]:
    """Let Ctrl-C end what is done inside, whatever becomes of the handler that there is.

    Spark's cancels its jobs first. It fails where Java has gone, and where Ctrl-C comes twice.
    """
    cancel = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(cancel):
        yield
        return
    cancelling = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal cancelling
        if not cancelling:
            cancelling = True
            try:
                with suppress(Exception):
                    cancel(number, frame)
            finally:
                cancelling = False
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, cancel)


def _reason(error: Exception, address: str | None) -> str:
    """What went wrong, in one line: what Java says, where it does."""
    java = getattr(error, "java_exception", None)
    line = str(error if java is None else java.getMessage()).splitlines()[0]
    return _without_secrets(line, address or "")
