"""What a measurement found out, and the files that hold it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from summary import parity_findings, parity_notes, parity_section, speed_findings, speed_section


@dataclass
class Results:
    """What is known so far; written after every step."""

    folder: Path
    environment: dict[str, Any] = field(default_factory=dict)
    speed: list[dict[str, Any]] = field(default_factory=list)
    fixtures: list[dict[str, Any]] = field(default_factory=list)
    liger: list[dict[str, Any]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What was not run, or not to its end."""

    def findings(self) -> list[str]:
        """What does not hold, or was not shown to."""
        parity = parity_findings("fixture", self.fixtures) + parity_findings("Liger", self.liger)
        return [*speed_findings(self.speed), *parity, *(f"not run: {one}" for one in self.missing)]

    def write(self) -> None:
        """Writes results.json and h200-literal.md."""
        data = {name: getattr(self, name) for name in ("environment", "speed", "fixtures", "liger", "missing")}
        data["findings"] = self.findings()
        (self.folder / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        (self.folder / "h200-literal.md").write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        """The results as Markdown."""
        known = self.environment
        parts = ["# The literal port, measured\n"]
        parts.append(
            f"{known.get('gpu', 'no GPU')}, driver {known.get('driver', '?')}; Triton {known.get('triton', '?')}, "
            f"torch {known.get('torch', '?')}, Python {known.get('python', '?')}; {known.get('date', '?')}. "
            f"A copy on the device moves {known.get('copy_gb_s', 0):.0f} GB/s, read and written.\n"
        )
        if known.get("device") == "cpu":
            parts.append("**Run in the emulator: this shows that the script works, and no speed.**\n")
        if self.speed:
            parts.append("## Speed\n")
            parts.append(
                f"`scripts/gpu/measure.py`: the kernel launches of original and port in turns, {known['rounds']} "
                f"rounds of {known['iterations']} launches each, device events, the L2 cache flushed before every "
                "launch, both on the same tensors; what they compute was compared first. Ratio: the median over "
                "the rounds of the medians' ratio, more than 1 where the port is faster. Spread: the range of that "
                "ratio over the rounds, or the distance of the control from 1 where that is more. Control: the "
                "original against itself. GB/s counts each tensor once, one that is overwritten twice.\n"
            )
            parts.append(speed_section(self.speed))
        for title, what, rows, text in (
            (
                "Fixtures",
                "fixture",
                self.fixtures,
                "`parity-check --tiers T3` of every fixture: equal bit for bit (PASS), or no further from float64 than "
                "twice the original (PASS-TOLERANCE).",
            ),
            (
                "Liger-Kernel 0.8.5",
                "file",
                self.liger,
                "Each file of `liger_kernel/ops` is replaced by its port inside the package, and its functions are run "
                "forward and backward with the cases of `scripts/gpu/liger`: shapes on and off the block, float32 and "
                "bfloat16, every option of theirs. Original and port are compared as above. The kernels for softmax of "
                "rows of several blocks do not compile in Triton: the backward one is compared with torch, the forward "
                "one cannot be compared.",
            ),
        ):
            if rows:
                notes = parity_notes(rows)
                parts += [f"## {title}\n", f"{text}\n", parity_section(rows, what)]
                if notes:
                    parts += ["What is not equal bit for bit, and what else was noted:\n", notes]
        found = self.findings()
        if found:
            parts += ["## Does not hold\n", "\n".join(f"- {one}" for one in found) + "\n"]
        return "\n".join(parts)
