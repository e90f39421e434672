"""Pictures of a run: PIL images and objects that draw themselves, sent to the host, each once.

Everything here may be called from code of the chat (`display`, `Image.show`) and
may be struck by an interrupt anywhere but in the sending of a message.
"""

from pristine import BUILTINS as __builtins__  # isort: skip

import _io
import binascii

from interrupts import Interrupts
from pristine import MODULES
from text import line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PNG, JPEG = "image/png", "image/jpeg"
_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
#: Sizes of JPEG are in its start-of-frame markers.
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: All pictures of a run together, and the longest side of one that the host takes.
_TOTAL_BYTES = 32 << 20
_SIDE = 20_000
#: Most pixels of a picture that is drawn or encoded here.
MOST_PIXELS = 16_000_000
#: Modes that PNG has; images of others are converted, to RGB unless it says otherwise here.
_PNG_MODES = frozenset(("1", "L", "LA", "I;16", "P", "RGB", "RGBA"))
_CONVERTED = {"F": "L", "I": "I;16"}
_NOTES = 20


class Pictures:
    """Counts and sends the pictures and keeps the notes of the run under way."""

    def __init__(self, options: dict, interrupts: Interrupts, send: "Callable[[dict, bytes], None]") -> None:
        self.most_bytes = options.get("image_bytes", 8 << 20)
        self._most = options.get("images", 10)
        self._interrupts = interrupts
        self._send = send
        self.notes: list[str] = []
        self.begin(0)

    def begin(self, n: int) -> None:
        """Begin run n."""
        self._n, self._count, self._total, self._left_out = n, 0, 0, 0
        self._sent: set[int] = set()
        self._shown: list[object] = []
        self.notes = []

    def note(self, sentence: str) -> None:
        """Tell the person something, once."""
        if sentence not in self.notes and len(self.notes) < _NOTES:
            self.notes.append(line(sentence, 400))

    def end(self) -> None:
        """Tell what was left out."""
        if self._left_out:
            self.note(f"{self._left_out} more pictures were left out: a run shows {self._most} at most")

    def full(self) -> bool:
        """Report whether no more pictures can be sent; if so, count one as left out."""
        if self._count < self._most:
            return False
        self._left_out += 1
        return True

    def send(self, data: bytes, source: str) -> bool:
        """Send a picture; return False, with a note, if it cannot be."""
        mime, width, height = measure(data)
        if not mime:
            self.note("a picture was left out: it is neither PNG nor JPEG")
        elif width > _SIDE or height > _SIDE or len(data) > self.most_bytes:
            self.note(f"a picture of {width}×{height} pixels and {len(data):,} bytes was left out: it is too large")
        elif self._total + len(data) > _TOTAL_BYTES:
            self.note(f"a picture was left out: a run shows {_TOTAL_BYTES >> 20} MiB of them at most")
        elif hash(data) in self._sent:
            return True
        elif not self.full():
            header = {"op": "image", "n": self._n, "mime": mime, "width": width, "height": height, "source": source}
            self._interrupts.undisturbed(self._record, header, data)
            return True
        return False

    def _record(self, header: dict, data: bytes) -> None:
        self._count += 1
        self._total += len(data)
        self._sent.add(hash(data))
        self._send(header, data)

    def offer(self, value: object) -> bool:
        """Send value if it is a picture; report whether it was one. May raise anything."""
        image = MODULES.get("PIL.Image")
        if image is not None and isinstance(value, image.Image):
            self.show_image(value)
            return True
        for method in ("_repr_png_", "_repr_jpeg_"):
            draw = getattr(type(value), method, None)
            if draw is None:
                continue
            data = draw(value)
            if isinstance(data, tuple) and data:
                data = data[0]
            if isinstance(data, str):
                data = binascii.a2b_base64(data)
            if isinstance(data, (bytes, bytearray, memoryview)):
                return self.send(bytes(data), "repr")
        return False

    def show_image(self, image) -> None:
        """Send a PIL image, the same object only once, scaled down if it is too large."""
        if any(image is shown for shown in self._shown) or self.full():
            return
        self._shown.append(image)
        whole, scale = image.size, 1.0
        while True:
            small = _scaled(image, scale)
            data = _png(small)
            if len(data) <= self.most_bytes or max(small.size) <= 64:
                break
            scale = min(scale, small.size[0] / whole[0]) * min(0.7, (self.most_bytes / len(data)) ** 0.5)
        if small.size != whole:
            self.note(
                f"a picture of {whole[0]}×{whole[1]} pixels is too large"
                f" and is shown as {small.size[0]}×{small.size[1]}"
            )
        self.send(data, "pil")

    def install(self, module) -> None:
        """Make Image.show() of PIL, whose module Image was just imported, send the image."""
        module.Image.show = lambda image, title=None, **options: self.show_image(image)


def _scaled(image, scale: float):
    """Return image, or a smaller copy within MOST_PIXELS and `scale`."""
    width, height = image.size
    most = min(scale, (MOST_PIXELS / max(width * height, 1)) ** 0.5, _SIDE / max(width, height, 1))
    if most >= 1:
        return image
    if image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.resize((max(1, int(width * most)), max(1, int(height * most))))


def _png(image) -> bytes:
    if image.mode not in _PNG_MODES:
        image = image.convert(_CONVERTED.get(image.mode, "RGB"))
    buffer = _io.BytesIO()
    image.save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()


def measure(data: bytes) -> tuple[str, int, int]:
    """Return MIME type, width and height of a PNG or JPEG, or '' and zeros."""
    if data[:8] == _PNG_MAGIC and data[12:16] == b"IHDR":
        return PNG, int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data[:2] != b"\xff\xd8":
        return "", 0, 0
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAME_MARKERS:
            return JPEG, int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4])
    return "", 0, 0
