"""Scales a picture for a model and for a page: upright, and without what a camera noted in it.

Runs in the process of ``reader``, which bounds it.
"""

import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from jenny.documents.pages import Unreadable

# What models take without scaling it themselves: pixels of the longer side.
MODEL_EDGE = 1568
_THUMBNAIL_EDGE = 320
MOST_PIXELS = 80_000_000
# A drawing or a screen is sharper as PNG, as long as that is small.
_PNG_BYTES = 700_000


@dataclass(frozen=True, slots=True)
class Scaled:
    width: int
    height: int
    media_type: str
    data: bytes
    thumbnail: bytes


def scale(path: Path) -> Scaled:
    """:raises Unreadable: it is too large, or no picture."""
    import pillow_heif  # noqa: PLC0415 - only this process pays for it

    pillow_heif.register_heif_opener()
    Image.MAX_IMAGE_PIXELS = None  # the size is checked below, before anything is decoded
    try:
        with Image.open(path) as image:
            pixels = image.width * image.height
            if pixels > MOST_PIXELS:
                raise Unreadable(
                    f"It has {pixels / 1_000_000:.0f} megapixels; pictures of up to "
                    f"{MOST_PIXELS // 1_000_000} can be shown to a model."
                )
            image.draft("RGB", (2 * MODEL_EDGE, 2 * MODEL_EDGE))
            upright = ImageOps.exif_transpose(image)
            is_drawn = image.format in {"PNG", "GIF", "BMP"}
            flat = _flat(upright)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise Unreadable("It is broken: it cannot be read as a picture.") from error
    flat.thumbnail((MODEL_EDGE, MODEL_EDGE), Image.Resampling.LANCZOS)
    data, media_type = _encoded(flat, is_drawn=is_drawn)
    small = flat.copy()
    small.thumbnail((_THUMBNAIL_EDGE, _THUMBNAIL_EDGE), Image.Resampling.LANCZOS)
    thumbnail = io.BytesIO()
    small.save(thumbnail, "WEBP", quality=78)
    return Scaled(flat.width, flat.height, media_type, data, thumbnail.getvalue())


def _flat(image: Image.Image) -> Image.Image:
    """Return new pixels on white without transparency: nothing else of the file comes along."""
    if image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        clear = image.convert("RGBA")
        flat = Image.new("RGB", clear.size, "white")
        flat.paste(clear, mask=clear.getchannel("A"))
        return flat
    flat = Image.new("RGB", image.size)
    flat.paste(image.convert("RGB"))
    return flat


def _encoded(image: Image.Image, *, is_drawn: bool) -> tuple[bytes, str]:
    if is_drawn:
        sharp = io.BytesIO()
        image.save(sharp, "PNG", optimize=False)
        if sharp.tell() <= _PNG_BYTES:
            return sharp.getvalue(), "image/png"
    target = io.BytesIO()
    image.save(target, "JPEG", quality=86)
    return target.getvalue(), "image/jpeg"
