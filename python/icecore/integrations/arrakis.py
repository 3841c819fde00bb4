"""Arrakis: channels of repositories over Arrow Flight, as LIGO's ``arrakis`` clients and gwpy read them.

A request is JSON in a Flight descriptor: ``Find``, ``Count``, ``Describe`` or ``Stream``. The answer names
one endpoint, this server, whose ticket is the request. A stream has one batch for each second: its time and a
list of samples for each channel, null if a channel has none.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from icecore import errors
from icecore.integrations.arrakis_channels import STRIDE, Catalog, Served, windows

try:
    import pyarrow as pa
    from pyarrow import compute, flight
except (ModuleNotFoundError, ImportError):  # pyarrow without Flight
    raise errors.needs("table", "Arrakis needs pyarrow with Flight") from None

#: location of an endpoint that is the server itself
_HERE = "arrow-flight-reuse-connection://?"
#: seconds that are read at once, and between two looks for new samples
_AHEAD, _PAUSE = 64, 0.25
#: streams that run at the same time; most channels of one, and bytes of the samples that it reads at once
_STREAMS, _CHANNELS, _BYTES = 32, 4096, 64 << 20
_REQUESTS = ("Find", "Count", "Describe", "Stream")

_METADATA = pa.schema(
    [
        pa.field("channel", pa.string(), nullable=False),
        pa.field("data_type", pa.string(), nullable=False),
        pa.field("sample_rate", pa.int32(), nullable=False),
        pa.field("partition_id", pa.string()),
        pa.field("partition_index", pa.uint32()),
        pa.field("publisher", pa.string()),
        pa.field("stride", pa.uint64()),
        pa.field("max_latency", pa.uint64()),
        pa.field("replay_id", pa.string()),
    ]
)
_COUNT = pa.schema([pa.field("count", pa.int64())])


class Server(flight.FlightServerBase):
    """The server; :meth:`start` serves in a thread, :meth:`stop` ends all streams.

    Args:
        addresses: repositories, ``REPO@REF`` for versions that don't change.
        host: IP address.
        port: port; 0 selects a free one.
        storage: options of object stores.

    Raises:
        Error: ``io`` if the port can't be used.

    Example:
        >>> Server([], port=0).port > 0
        True
    """

    def __init__(
        self,
        addresses: Sequence[str],
        host: str = "127.0.0.1",
        port: int = 31206,
        storage: Mapping[str, Any] | None = None,
    ) -> None:
        self._catalog = Catalog(addresses, storage)
        self._ends = threading.Event()
        self._free = threading.BoundedSemaphore(_STREAMS)
        shown = f"[{host}]" if ":" in host else host
        try:
            super().__init__(f"grpc://{shown}:{port}")
        except (OSError, pa.ArrowException) as error:
            message = f"can't listen on {host}:{port}: {str(error).partition('.')[0]}"
            raise errors.make("io", message, "--arrakis 0 selects a free port") from None

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self.serve, name="icecore-arrakis", daemon=True).start()

    def stop(self) -> None:
        """End all streams and the server."""
        self._ends.set()
        self.shutdown()

    def get_flight_info(self, _context: Any, descriptor: flight.FlightDescriptor) -> flight.FlightInfo:
        """Return the schema of a request's answer, and where it is read."""
        with _told():
            name, arguments = _parsed(descriptor.command)
            schema = _COUNT if name == "Count" else _METADATA
            if name == "Stream":
                schema = _schema(self._named(arguments))
            endpoint = flight.FlightEndpoint(descriptor.command, [_HERE])
            return flight.FlightInfo(schema, descriptor, [endpoint], -1, -1)

    def do_get(self, context: Any, ticket: flight.Ticket) -> Any:
        """Return the answer of a request."""
        with _told():
            name, arguments = _parsed(ticket.ticket)
            if name == "Stream":
                channels = self._named(arguments)
                schema = _schema(channels)
                if not self._free.acquire(blocking=False):
                    raise flight.FlightUnavailableError(
                        f"{_STREAMS} streams are read already; try again later"
                    )
                return flight.GeneratorStream(
                    schema, self._released(self._streamed(context, schema, arguments))
                )
            found = self._named(arguments) if name == "Describe" else self._found(arguments)
            if name == "Count":
                return flight.RecordBatchStream(pa.table({"count": [len(found)]}, schema=_COUNT))
            return flight.RecordBatchStream(_described(found))

    def do_action(self, _context: Any, action: flight.Action) -> Iterator[bytes]:
        """Answer ``server-info``, ``scope-map`` and ``replays``."""
        from icecore import _icecore

        domains = sorted({name.partition(":")[0] for name in self._catalog.channels()})
        answers: dict[str, Any] = {
            "server-info": {"version": _icecore.__version__, "backend": "icecore", "domains": domains},
            "scope-map": {"endpoints": {_HERE: {"scopes": {domain: [] for domain in domains}}}},
            "replays": {},
        }
        if action.type not in answers:
            raise flight.FlightServerError(f"unknown action {action.type!r:.60}")
        yield json.dumps(answers[action.type]).encode()

    def list_actions(self, _context: Any) -> list[tuple[str, str]]:
        """Return the actions."""
        return [("server-info", "version"), ("scope-map", "domains"), ("replays", "none")]

    def _named(self, arguments: Mapping[str, Any]) -> list[Served]:
        names = arguments["channels"]
        known = self._catalog.channels()
        missing = [name for name in names if name not in known]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise errors.make("not-found", f"no channel {', '.join(missing[:3])}{more}")
        return [known[name] for name in dict.fromkeys(names)]

    def _found(self, arguments: Mapping[str, Any]) -> list[Served]:
        known = self._catalog.channels()
        low, high = arguments.get("min_rate", 0), arguments.get("max_rate", 1 << 32)
        types, publishers = arguments.get("data_type") or [], arguments.get("publisher") or []
        try:  # RE2, whose time is linear: the pattern is a stranger's
            is_named = compute.match_substring_regex(
                pa.array(list(known), pa.string()), f"^(?:{arguments.get('pattern', '.*')})"
            ).to_pylist()
        except pa.ArrowInvalid as error:
            raise errors.make("invalid", f"the pattern is not a regular expression: {error}") from None
        return [
            each
            for each, named in zip(known.values(), is_named, strict=True)
            if named
            and low <= each.rate <= high
            and (not types or each.dtype.name in types)
            and (not publishers or each.publisher in publishers)
        ]

    def _released(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        finally:
            self._free.release()

    def _streamed(
        self, context: Any, schema: pa.Schema, arguments: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        start, end = arguments["start"], arguments["end"]
        names = schema.names[1:]
        ends = lambda: self._ends.is_set() or context.is_cancelled()  # noqa: E731
        at = start
        while not ends():
            known = self._catalog.channels()
            channels = [known[name] for name in names if name in known]
            if len(channels) < len(names):
                return
            until = min(channel.end for channel in channels)
            if at is None:  # from now on
                at = until // STRIDE * STRIDE
            stop = until // STRIDE * STRIDE if end is None else min(end, until)
            if stop > at:
                yield from _batches(schema, channels, at, stop, ends)
                at = stop
            if end is not None:
                return
            self._ends.wait(_PAUSE)


def _batches(
    schema: pa.Schema, channels: Sequence[Served], start: int, stop: int, ends: Callable[[], bool]
) -> Iterator[pa.RecordBatch]:
    """Yield a batch for each second with samples; the first and the last may be shorter."""
    a_second = sum(channel.rate * channel.dtype.itemsize for channel in channels)
    ahead = max(min(_AHEAD, _BYTES // max(a_second, 1)), 1)
    for low, high in windows(start, stop, ahead * STRIDE):
        if ends():
            return
        read = [(channel, *channel.read(low, high)) for channel in channels]
        for begin, end in windows(low, high, STRIDE):
            columns: list[Any] = [pa.array([begin], pa.int64())]
            is_there = False
            for channel, samples, there in read:
                part = slice(channel.axis.first_at(begin) - channel.axis.first_at(low), None)
                part = slice(part.start, channel.axis.first_at(end) - channel.axis.first_at(low))
                is_there = is_there or bool(there[part].any())
                values = pa.array(samples[part], mask=~there[part])
                columns.append(pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values))
            if is_there:
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _schema(channels: Sequence[Served]) -> pa.Schema:
    fields = [pa.field("time", pa.int64(), nullable=False)]
    for channel in sorted(channels, key=lambda each: each.name):
        kind = pa.list_(pa.from_numpy_dtype(channel.dtype))
        fields.append(pa.field(channel.name, kind).with_metadata({"rate": str(channel.rate)}))
    return pa.schema(fields)


def _described(channels: Sequence[Served]) -> pa.Table:
    count = len(channels)
    columns = {
        "channel": [each.name for each in channels],
        "data_type": [each.dtype.name for each in channels],
        "sample_rate": [each.rate for each in channels],
        "partition_id": [None] * count,
        "partition_index": [None] * count,
        "publisher": [each.publisher for each in channels],
        "stride": [STRIDE] * count,
        "max_latency": [None] * count,
        "replay_id": [None] * count,
    }
    return pa.table(columns, schema=_METADATA)


def _parsed(command: bytes | None) -> tuple[str, Mapping[str, Any]]:
    """Return name and arguments of a request.

    Raises:
        Error: ``invalid``.
    """
    try:
        request = json.loads(command or b"")
        name, arguments = request["request"], request["args"]
    except (ValueError, TypeError, KeyError):
        raise errors.make("invalid", 'the request is not JSON with "request" and "args"') from None
    if name not in _REQUESTS or not isinstance(arguments, dict):
        raise errors.make("unsupported", f"request {name!r:.60}: {', '.join(_REQUESTS)} are answered")
    if arguments.get("replay_id") or arguments.get("replay_start"):
        raise errors.make("unsupported", "replays are not served")
    if name in ("Describe", "Stream"):
        channels = arguments.get("channels")
        if not isinstance(channels, list) or not all(isinstance(each, str) for each in channels):
            raise errors.make("invalid", "channels must be a list of names")
        if len(channels) > _CHANNELS:
            raise errors.make("invalid", f"{len(channels)} channels exceed the limit of {_CHANNELS}")
    kinds: dict[str, tuple[type, ...]] = {"start": (int,), "end": (int,), "pattern": (str,)}
    kinds |= {"min_rate": (int,), "max_rate": (int,), "data_type": (list,), "publisher": (list,)}
    for key, accepted in kinds.items():
        if arguments.get(key) is not None and not isinstance(arguments[key], accepted):
            raise errors.make("invalid", f"{key} must be {accepted[0].__name__} (got {arguments[key]!r:.60})")
    if name == "Stream":
        start, end = arguments.setdefault("start", None), arguments.setdefault("end", None)
        if start is not None and end is not None and end < start:
            raise errors.make("invalid", f"the stretch ends ({end}) before it begins ({start})")
    return name, arguments


class _told:
    """Errors as Flight's, with their kind; nothing of other exceptions reaches a client."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, errors.Error):
            raise flight.FlightServerError(f"{error.kind}: {error.message}") from None
        if isinstance(error, Exception) and not isinstance(error, flight.FlightError):
            raise flight.FlightInternalError("internal error of the server") from None
