"""The way out of a guest: a port on 127.0.0.1 whose connections go to the host's proxy.

There is no network in a guest. Where the operator allows a way out, init runs this
as a thread: each connection to the port is joined with one to a Unix socket that the
host listens on. What may be reached is decided there; here bytes are passed on
unread. The socket is open to root alone, so code of the chat comes by the port.

When the host ends its side, or a checkpoint has ended it, all is over: the connection to
the host is closed at once, and the client gets what is left, and an end.
"""

import _socket
import _thread
import select
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SOCKET = "/run/egress/socket"
ADDRESS = "127.0.0.1"
#: Connections at once. The host allows fewer and tells the others so; what is above this waits.
CONNECTIONS = 96
#: Descriptors that init needs for itself.
SPARE_FILES = 32
#: Bytes that are read at once, and held for a side that does not take them.
PIECE = 65536
#: How long (seconds) a client is listened to, unheard, after the end of the host's side.
LINGER = 5.0
#: How often (seconds) connections to the host are looked at whose end nobody tells: a checkpoint after which
#: the guest goes on ends them without an event.
LOOK = 1.0
#: How long the port is left alone when a connection cannot be accepted, or there are too many.
PAUSE = 0.2

_CLOSED = b"the way out of this sandbox is closed for the moment; try again"
_NO_HOST = b"HTTP/1.1 503 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % _CLOSED


def start(port: int, open_files: int) -> None:
    """Listen, and serve in a thread. Raises OSError when the port is not free."""
    forwarder = Forwarder(port, max(1, min(CONNECTIONS, (open_files - SPARE_FILES) // 2)))
    _thread.start_new_thread(forwarder.serve, ())


class Forwarder:
    """A loop over all connections; nothing in it waits but for events."""

    def __init__(self, port: int, most: int) -> None:
        self._most = most
        self._listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        self._listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        self._listener.bind((ADDRESS, port))
        self._listener.listen(CONNECTIONS)
        self._poll = select.epoll()
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._paused = 0.0  # until when nothing is accepted; 0 for not
        self._look = 0.0  # when connections are looked at next
        self._handlers: dict[int, Callable[[int], None]] = {self._listener.fileno(): self._accept}
        self._open: set[Connection] = set()

    def serve(self) -> None:
        """Never returns. What goes wrong with a connection ends that connection."""
        while True:
            for fd, events in self._poll.poll(self._timeout()):
                handler = self._handlers.get(fd)  # one that an event before has closed has none
                if handler is not None:
                    handler(events)
            self._expire()

    def _timeout(self) -> float | None:
        soonest = [c.deadline for c in self._open if c.deadline]
        if self._paused:
            soonest.append(self._paused)
        if self._open:
            soonest.append(self._look)
        return max(0.0, min(soonest) - monotonic()) if soonest else None

    def _expire(self) -> None:
        now = monotonic()
        for connection in [c for c in self._open if c.deadline and c.deadline <= now]:
            connection.close()
        if self._look <= now:
            self._look = now + LOOK
            for connection in list(self._open):
                connection.look()
        if self._paused and self._paused <= now:
            self._paused = 0.0
            self._poll.modify(self._listener.fileno(), select.EPOLLIN)

    def _accept(self, _: int) -> None:
        if len(self._open) >= self._most:
            self._pause()
            return
        try:
            fd, _ = self._listener._accept()
            client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, fd)
        except BlockingIOError:  # the client has gone again
            return
        except OSError:  # no descriptor or memory is left
            self._pause()
            return
        client.setblocking(False)
        self._open.add(Connection(self, client, _connect()))

    def _pause(self) -> None:
        self._paused = monotonic() + PAUSE
        self._poll.modify(self._listener.fileno(), 0)

    def want(self, fd: int, before: int, events: int, handler: Callable[[int], None]) -> None:
        """Change the events that are waited for; none takes fd out, since an end is told always."""
        if events == before:
            return
        if not before:
            self._poll.register(fd, events)
            self._handlers[fd] = handler
        elif events:
            self._poll.modify(fd, events)
        else:
            self._poll.unregister(fd)
            del self._handlers[fd]

    def forget(self, connection: "Connection") -> None:
        """Called by a connection at its end."""
        self._open.discard(connection)


def _connect() -> _socket.socket | None:
    """Connect to the host; None when it does not listen."""
    host = None
    try:
        host = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        host.connect(SOCKET)
        host.setblocking(False)
    except OSError:
        if host is not None:
            host.close()
        return None
    return host


class Connection:
    """A client and the host's side of it."""

    def __init__(self, forwarder: Forwarder, client: _socket.socket, host: _socket.socket | None) -> None:
        self._forwarder = forwarder
        self._client, self._host = client, host
        self._to_client = b"" if host else _NO_HOST
        self._to_host = b""
        self._ended = False  # the client sends no more
        self._passed_on = False  # the host was told that the client sends no more
        self._told = False  # the client was told that nothing comes any more
        self._awaited = {"client": 0, "host": 0}
        self.deadline = 0.0  # when the client is not listened to any more, once it was told
        self._settle()

    def close(self) -> None:
        """Close both sides."""
        self._want("client", self._client, 0, self._on_client)
        self._client.close()
        self._close_host()
        self._forwarder.forget(self)

    def look(self) -> None:
        """Notice the end of the host's side if there was no event."""
        if self._host is None:
            return
        try:
            ended = not self._host.recv(1, _socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            self._close_host()
            self._settle()

    def _close_host(self) -> None:
        if self._host is not None:
            self._want("host", self._host, 0, self._on_host)
            self._host.close()
            self._host = None

    def _want(self, side: str, sock: _socket.socket, events: int, handler: Callable[[int], None]) -> None:
        self._forwarder.want(sock.fileno(), self._awaited[side], events, handler)
        self._awaited[side] = events

    def _on_client(self, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                self._to_client = _send(self._client, self._to_client)
            if events & ~select.EPOLLOUT and not self._to_host and not self._ended:
                data = self._client.recv(PIECE)
                self._ended = not data
                if self._host is not None:
                    self._to_host = data
        except BlockingIOError:
            pass
        except OSError:  # nobody is there to be told anything
            self.close()
            return
        self._settle()

    def _on_host(self, events: int) -> None:
        broken = False
        if events & select.EPOLLOUT:
            try:
                self._to_host = _send(self._host, self._to_host)
            except OSError:
                broken = True
        more: bool | None = None
        if broken or events & ~(select.EPOLLIN | select.EPOLLOUT):
            # It is let go of at once, whoever takes what it has sent: no more than a socket holds.
            while more := self._receive():
                pass
        elif events & select.EPOLLIN and not self._to_client:
            more = self._receive()
        if broken or more is False:
            self._close_host()
        self._settle()

    def _receive(self) -> bool | None:
        """Read a piece from the host; return False at its end, None when there is nothing yet."""
        try:
            data = self._host.recv(PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return False
        self._to_client += data
        return bool(data)

    def _settle(self) -> None:
        """Tell each side of the other's end, and wait for what can come next."""
        if self._host is None:
            self._to_host = b""
        if self._ended and self._host is not None and not self._to_host and not self._passed_on:
            self._passed_on = True
            try:
                self._host.shutdown(_socket.SHUT_WR)
            except OSError:  # it has ended too, which is read next
                pass
        if self._host is None and not self._to_client and not self._told:
            self._told, self.deadline = True, monotonic() + LINGER
            try:
                self._client.shutdown(_socket.SHUT_WR)
            except OSError:
                self._ended = True
        if self._told and self._ended:
            self.close()
            return
        reads = 0 if self._ended or self._to_host else select.EPOLLIN
        self._want("client", self._client, reads | (select.EPOLLOUT if self._to_client else 0), self._on_client)
        if self._host is not None:
            reads = 0 if self._to_client else select.EPOLLIN
            self._want("host", self._host, select.EPOLLRDHUP | reads | (select.EPOLLOUT if self._to_host else 0), self._on_host)


def _send(sock: _socket.socket, data: bytes) -> bytes:
    """Send what goes now and return the rest."""
    try:
        return data[sock.send(data) :]
    except BlockingIOError:
        return data
