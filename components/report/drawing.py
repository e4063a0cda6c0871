"""A figure with its words, and how it reaches the disk and the page."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from components.report.appearance import RC

_XML_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_WHITE = re.compile(r"((?:fill|stroke): )#ffffff")
_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One figure of the page.

    Attributes:
      name: Of its files.
      title: What it shows, in a few words.
      caption: What to see; HTML.
      source: The paper's figure it corresponds to; empty when there is none.
      figure: None where the run has nothing to draw.
      absence: Then, why; HTML.
    """

    name: str
    title: str
    caption: str = ""
    source: str = ""
    figure: Figure | None = None
    absence: str = ""

    def drawn(self, figure: Figure) -> Drawing:
        """These words with their figure."""
        return dataclasses.replace(self, figure=figure)

    def missing(self, why: str) -> Drawing:
        """These words, and why there is no figure."""
        return dataclasses.replace(self, absence=why)


def save(drawing: Drawing, folder: Path, dots_per_inch: int) -> str:
    """Writes PNG and SVG; returns the SVG for the page.

    The same run gives the same bytes: no date, ids from the figure's name.
    """
    figure = drawing.figure
    figure.set_dpi(dots_per_inch)
    buffer = io.StringIO()
    with rc_context({**RC, "svg.hashsalt": drawing.name}):
        # `Figure.savefig` draws twice, once only to ask for the size.
        FigureCanvasAgg(figure).print_png(folder / f"{drawing.name}.png")
        # The layout is final now; solving it again for the SVG takes as long.
        figure.set_layout_engine("none")
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    text = buffer.getvalue()
    (folder / f"{drawing.name}.svg").write_text(text, encoding="utf-8")
    return inline(text, drawing)


def inline(svg: str, drawing: Drawing) -> str:
    """An SVG document as an element of the page, with ids of its own.

    Args:
      svg: The document.
      drawing: Whose; its name keeps ids apart, its title is read aloud.
    """
    text = _METADATA.sub("", _XML_HEAD.sub("", svg, count=1), count=1)
    text = _WHITE.sub(r"\1var(--plot)", text)
    text = _IDS.sub(rf"\g<1>{drawing.name}-", text)
    label = f'<svg role="img" aria-label="{drawing.title}"'
    width = _SIZE.search(text)
    if width:
        text = text.replace(
            f'width="{width[1]}pt" height="{width[2]}pt"', 'width="100%"', 1
        )
    return text.replace("<svg", label, 1).strip()
