# SPDX-License-Identifier: MIT
"""Streams and events. Work is executed when it is submitted; what streams and events carry is simulated time."""

import torch

from ascend_sim import _C, arguments
from ascend_sim.npu import _registration
from ascend_sim.npu.devices import index_of

_DEVICE_TYPE = int(torch._C._autograd.DeviceType.PrivateUse1)


class Stream(torch.Stream):
    """A stream of its own on `device`. Streams of one device share its cores: kernels overlap only if cores are free."""

    def __new__(cls, device=None, priority: int = 0, **identity):
        if identity:        # stream_id, device_index, device_type: a handle on an existing stream
            return super().__new__(cls, priority=priority, **identity)
        return super().__new__(cls, device=torch.device(_registration.NAME, index_of(device)), priority=priority)

    @property
    def npu_stream(self) -> int:
        """The handle that native code takes."""
        return self.stream_id

    def record_event(self, event=None):
        event = Event() if event is None else _event("torch.npu.Stream.record_event", "event", event)
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        super().wait_event(_event("torch.npu.Stream.wait_event", "event", event))

    def wait_stream(self, stream) -> None:
        self.wait_event(npu_stream("torch.npu.Stream.wait_stream", stream).record_event())

    def __repr__(self):
        return f"<torch.npu.Stream device=npu:{self.device_index} npu_stream={self.npu_stream:#x}>"


class SyncLaunchStream(Stream):
    """A stream whose launches wait for completion, as those of every stream do here."""


class ExternalStream(Stream):
    """A handle on the stream that native code calls `stream_ptr`."""

    def __new__(cls, stream_ptr: int, device=None):
        return super().__new__(cls, stream_id=stream_ptr, device_index=index_of(device), device_type=_DEVICE_TYPE)


class Event(torch.Event):
    """A point in a stream. With enable_timing, elapsed_time gives *simulated* milliseconds between two of them.

    Host time between two launches counts nothing. Between events recorded in functional mode there is no time: elapsed_time
    then raises and names the mode.
    """

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        event = super().__new__(cls, device=torch.device(_registration.NAME), enable_timing=enable_timing, blocking=blocking,
                                interprocess=interprocess)
        event._has_timing = enable_timing
        event._recorded_us = None
        return event

    def record(self, stream=None) -> None:
        stream = current_stream() if stream is None else npu_stream("torch.npu.Event.record", stream)
        super().record(stream)
        self._recorded_us = _C.now_us(stream.device_index, stream.stream_id)

    def wait(self, stream=None) -> None:
        super().wait(current_stream() if stream is None else npu_stream("torch.npu.Event.wait", stream))

    def elapsed_time(self, end_event) -> float:
        """Simulated milliseconds from this event to `end_event`; 0.0 if no work was submitted in between."""
        if not isinstance(end_event, Event):        # torch.Event itself; its own method takes no subclass
            return super().elapsed_time(_event("torch.npu.Event.elapsed_time", "end_event", end_event))
        for name, event in (("this event", self), ("end_event", end_event)):
            if not event._has_timing:
                raise ValueError(f"torch.npu.Event.elapsed_time: {name} was created without enable_timing=True.")
            if event._recorded_us is None:
                raise ValueError(f"torch.npu.Event.elapsed_time: {name} has not been recorded.")
        return _C.elapsed_ms(self.event_id, end_event.event_id)

    def recorded_time(self) -> float:
        """Simulated microseconds of the stream's clock at the record."""
        if self._recorded_us is None:
            raise RuntimeError("torch.npu.Event.recorded_time: the event has not been recorded.")
        return self._recorded_us

    def ipc_handle(self):
        raise NotImplementedError("torch.npu.Event.ipc_handle: events are not shared between processes.")

    def __repr__(self):
        return "<torch.npu.Event>"


class ExternalEvent(Event):
    """An event that orders captured work against other work: it may be recorded in one graph and waited for in another, or outside."""

    def reset(self, stream=None) -> None:
        """Makes it ready for the next record."""
        self._recorded_us = None

    def __repr__(self):
        return "<torch.npu.ExternalEvent>"


def npu_stream(function: str, stream):
    """The stream, if it is one of an npu: PyTorch's own methods read whatever they are given as a stream."""
    if not isinstance(stream, torch.Stream) or stream.device.type != _registration.NAME:
        what = f"a stream of {stream.device}" if isinstance(stream, torch.Stream) else arguments.shown(stream)
        raise TypeError(f"{function}: stream is {what}; expected a torch.npu.Stream.")
    return stream


def _event(function: str, name: str, event):
    return arguments.instance(function, name, event, torch.Event, "a torch.npu.Event")


def _wrapped(stream: torch.Stream) -> Stream:
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=_DEVICE_TYPE)


def current_stream(device=None) -> Stream:
    return _wrapped(torch.accelerator.current_stream(index_of(device)))


def default_stream(device=None) -> Stream:
    return Stream(stream_id=0, device_index=index_of(device), device_type=_DEVICE_TYPE)


def set_stream(stream) -> None:
    """Makes a stream current in this thread, and its device too. None is ignored."""
    if stream is not None:
        torch.accelerator.set_stream(npu_stream("torch.npu.set_stream", stream))


class StreamContext:
    """Makes a stream current inside a `with` block, and restores the streams and the device of before. None does nothing."""

    def __init__(self, stream):
        self.stream = stream if stream is None else npu_stream("torch.npu.stream", stream)

    def __enter__(self):
        if self.stream is not None:
            self._device_before = _C.current_device()
            self._stream_before = torch.accelerator.current_stream(self.stream.device_index)
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception):
        if self.stream is not None:
            torch.accelerator.set_stream(self._stream_before)
            _C.set_device(self._device_before)
        return False


def stream(stream) -> StreamContext:
    return StreamContext(stream)
