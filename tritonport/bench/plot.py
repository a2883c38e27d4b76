"""A picture of stages against the original over sizes."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonport.bench.result import FileBench, Rate, SizeResult
from tritonport.bench.statistics import ORIGINAL

_WIDE = 4
"""Sizes that are further apart than by this factor stand on a logarithmic axis."""


@dataclass(frozen=True)
class Series:
    """One line of a picture.

    Attributes:
        stage: what it is of.
        places: positions on the axis of the sizes.
        values, low, high: rates by place: of the median time, and of the 90th and 10th percentile.
    """

    stage: str
    places: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One set of axes: the sizes of a file whose rates have one unit.

    Attributes:
        title: the file.
        unit: GB/s or TFLOP/s.
        axis: the name of the size that varies; empty where the places are only numbered.
        ticks: the label of each place.
        series: the original first.
        ceiling: the rate that the device reaches; None where there is none, or not one for all sizes.
    """

    title: str
    unit: str
    axis: str
    ticks: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]
    ceiling: float | None


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def panels_of(files: Sequence[FileBench]) -> list[Panel]:
    """The panels of a picture; a size that was not timed is in none."""
    found = []
    for file in files:
        timed = [size for size in file.sizes if size.timings is not None]
        rates = {id(size): size.rate(ORIGINAL, file.ceilings) for size in timed}
        for unit in dict.fromkeys(rate.unit for rate in rates.values()):
            found.append(_panel(file, unit, [size for size in timed if rates[id(size)].unit == unit]))
    return found


def _panel(file: FileBench, unit: str, sizes: Sequence[SizeResult]) -> Panel:
    axis, places = _axis(sizes)
    pairs = sorted(zip(places, sizes, strict=True), key=lambda pair: pair[0])
    ticks = tuple((place, _tick(size, axis)) for place, size in pairs)
    stages = dict.fromkeys(stage for size in sizes for stage in (ORIGINAL, *size.timed))
    ceilings = {_ceiling(size.rate(ORIGINAL, file.ceilings)) for size in sizes}
    return Panel(
        title=file.path,
        unit=unit,
        axis=axis,
        ticks=ticks,
        series=tuple(_series(stage, pairs, file) for stage in stages),
        ceiling=next(iter(ceilings)) if len(ceilings) == 1 else None,
    )


def _axis(sizes: Sequence[SizeResult]) -> tuple[str, list[float]]:
    """The one numeric size that differs from set to set, and its values; else numbers in order."""
    names = dict.fromkeys(name for size in sizes for name in size.sizes)
    for name in names:
        values = [size.sizes.get(name) for size in sizes]
        numeric = [float(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(set(numeric)) == len(sizes) > 1:
            return name, numeric
    return "", [float(place) for place in range(len(sizes))]


def _tick(size: SizeResult, axis: str) -> str:
    return str(size.sizes[axis]) if axis else size.label


def _ceiling(rate: Rate) -> float | None:
    return None if rate.share is None else round(rate.value / rate.share, 6)


def _series(stage: str, pairs: Sequence[tuple[float, SizeResult]], file: FileBench) -> Series:
    rows = []
    for place, size in pairs:
        if size.timings is None or stage not in (ORIGINAL, *size.timed):
            continue
        times, rate = size.timings.lanes[stage], size.rate(stage, file.ceilings).value
        # A longer time is a lower rate.
        low, high = (rate * times.median / times.percentile(percent) for percent in (90, 10))
        rows.append((place, rate, low, high))
    columns = tuple(zip(*rows, strict=True)) or ((), (), (), ())
    return Series(stage, *columns)


def draw(files: Sequence[FileBench]) -> Any:
    """The picture as a figure of matplotlib: a panel for each file, a line for each stage, the ceiling dashed."""
    from matplotlib.figure import Figure

    panels = panels_of(files)
    figure = Figure(figsize=(8, 4.5 * max(1, len(panels))), layout="constrained")
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(len(panels), 1, number)
        for series in panel.series:
            below = [value - low for value, low in zip(series.values, series.low, strict=True)]
            above = [high - value for value, high in zip(series.values, series.high, strict=True)]
            style: dict[str, Any] = {"color": "black", "linewidth": 2.0} if series.stage == ORIGINAL else {}
            axes.errorbar(
                series.places,
                series.values,
                yerr=[[max(0.0, one) for one in below], [max(0.0, one) for one in above]],
                marker="o",
                capsize=3,
                label=series.stage,
                **style,
            )
        if panel.ceiling is not None:
            axes.axhline(panel.ceiling, color="grey", linestyle="--", label="ceiling")
        places = [place for place, _ in panel.ticks]
        if panel.axis and min(places) > 0 and max(places) >= _WIDE * min(places):
            axes.set_xscale("log", base=2)
        axes.set_xticks(places, [label for _, label in panel.ticks])
        axes.set(title=panel.title, xlabel=panel.axis, ylabel=panel.unit)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    return figure


def save_plot(files: Sequence[FileBench], destination: Path) -> None:
    """Writes the picture as PNG."""
    draw(files).savefig(destination, format="png", dpi=150)
