"""Recorded launches as case files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonport.verify.modules import module_name

_HEAD = '''"""Launches of {shown}, recorded by `tritonport capture`.

{kernels}

    tritonport parity-check {case}
"""

{imports}
from tritonport.verify.capture.replay import {names}

KERNEL_FILE = "{kernel_file}"
{contents}

LAUNCHES = (
{launches}
)

COMPILE_SPECS = [compile_spec(kernels, one) for one in LAUNCHES if compiles(one)]
seeds = (0,)


def make_inputs(device="cuda", seed=0, number=0):
    return recorded_inputs(LAUNCHES[number], __file__, {contents_name}, device, seed + number)


def variants():
    for number in range(1, len(LAUNCHES)):
        yield dict(number=number)


def launch(kernel, grid, arguments, options):
    launch_recorded(kernels, kernel, grid, arguments, options)
'''


@dataclass(frozen=True)
class WrittenCase:
    """A case that was written.

    Attributes:
        path: the case.
        kernel_file: the file whose launches it holds.
        launches: how many, by kernel.
    """

    path: Path
    kernel_file: Path
    launches: Mapping[str, int]


def write_cases(records: Sequence[Mapping[str, Any]], folder: Path, output: Path, limit: int) -> list[WrittenCase]:
    """Writes one case per kernel file, and the contents of its small tensors beside it.

    Args:
        records: of all processes, in order; each launch is written once.
        folder: where the processes left contents.
        output: made where it is missing.
        limit: launches of one kernel at most, the first ones.
    """
    by_file: dict[str, dict[str, Mapping[str, Any]]] = {}
    for record in records:
        if "key" in record:
            by_file.setdefault(record["file"], {}).setdefault(record["key"], record)
    output.mkdir(parents=True, exist_ok=True)
    names = _case_names(sorted(by_file))
    return [
        _write(Path(file), _limited(list(found.values()), limit), folder, output / names[file])
        for file, found in sorted(by_file.items())
    ]


def _case_names(files: Sequence[str]) -> dict[str, str]:
    """`<stem>_case.py`; files of one stem are told apart by their folders."""
    names: dict[str, str] = {}
    for file in files:
        parts = Path(file).with_suffix("").parts[1:]
        for length in range(1, len(parts) + 1):
            name = f"{'_'.join(parts[-length:])}_case.py"
            if name not in names.values():
                break
        names[file] = name
    return names


def _limited(records: list[Mapping[str, Any]], limit: int) -> list[Mapping[str, Any]]:
    counts: dict[str, int] = {}
    kept = []
    for record in records:
        counts[record["kernel"]] = counts.get(record["kernel"], 0) + 1
        if counts[record["kernel"]] <= limit:
            kept.append(record)
    return kept


def _write(kernel_file: Path, records: list[Mapping[str, Any]], folder: Path, path: Path) -> WrittenCase:
    import torch

    stored = {}
    for number, record in enumerate(records):
        if "contents" in record:
            for index, data in torch.load(folder / record["contents"], weights_only=True).items():
                stored[f"{number}/{index}"] = data
    contents = f"{path.stem}.pt" if stored else None
    text = _text(kernel_file, records, set(stored), path, contents)
    path.write_text(text, encoding="utf-8")
    if contents is not None:
        torch.save(stored, path.with_name(contents))
    counts: dict[str, int] = {}
    for record in records:
        counts[record["kernel"]] = counts.get(record["kernel"], 0) + 1
    return WrittenCase(path, kernel_file, counts)


def _text(
    kernel_file: Path, records: list[Mapping[str, Any]], stored: set[str], path: Path, contents: str | None
) -> str:
    module, _ = module_name(kernel_file)
    writer = _Literals()
    launches = "\n".join(writer.launch(number, record, stored) for number, record in enumerate(records))
    imports = sorted({f"import {module} as kernels", *writer.imports})
    names = sorted({"compile_spec", "compiles", "launch_recorded", "recorded_inputs", *writer.names})
    kernels = sorted({record["kernel"] for record in records})
    counts = {name: sum(record["kernel"] == name for record in records) for name in kernels}
    shown = os.path.relpath(kernel_file, path.parent)
    return _HEAD.format(
        shown=kernel_file.name,
        kernels="\n".join(f"    {count:>4}  {name}" for name, count in counts.items()),
        case=path.name,
        imports="\n".join(imports),
        names=", ".join(names),
        kernel_file=shown,
        contents=f'CONTENTS = "{contents}"' if contents else "CONTENTS = None",
        contents_name="CONTENTS",
        launches=launches,
    )


class _Literals:
    """Writes records as Python; keeps what that text has to import."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.names: set[str] = {"memory", "tensor"}

    def launch(self, number: int, record: Mapping[str, Any], stored: set[str]) -> str:
        """One entry of LAUNCHES."""
        memory = "".join(
            f"            {self._memory(one, name if (name := f'{number}/{index}') in stored else None)},\n"
            for index, one in enumerate(record["memory"])
        )
        options = "".join(f"{name}={self.value(value)}, " for name, value in record["options"].items())
        arguments = "".join(f"            {n}={self.value(value)},\n" for n, value in record["arguments"].items())
        return (
            f"    dict(\n"
            f'        kernel="{record["kernel"]}",\n'
            f"        grid={self._tuple(record['grid'])},\n"
            f"        memory=[\n{memory}        ],\n"
            f"        arguments=dict(\n{arguments}        ),\n"
            f"        options=dict({options.removesuffix(', ')}),\n"
            f"    ),"
        )

    @staticmethod
    def _memory(one: Mapping[str, Any], contents: str | None) -> str:
        address = f", address={one['address']}" if one["address"] else ""
        kept = f', contents="{contents}"' if contents else ""
        return f"memory({one['size']}{address}{kept})"

    @staticmethod
    def _tuple(items: Sequence[int]) -> str:
        return repr(tuple(items))

    def value(self, value: Any) -> str:
        """One argument or option."""
        if isinstance(value, list):
            return repr(tuple(value))
        if not isinstance(value, dict):
            return json.dumps(value) if isinstance(value, str) else repr(value)
        writers = {"tuple": self._items, "float": self._float, "tensor": self._tensor, "descriptor": self._descriptor}
        writers |= {"dtype": self._dtype, "torch": self._torch, "function": self._function}
        return writers[value["is"]](value)

    def _float(self, value: Mapping[str, Any]) -> str:
        number = float(value["value"])
        return repr(number) if math.isfinite(number) else f'float("{number}")'

    def _tensor(self, value: Mapping[str, Any]) -> str:
        words = [f'"{value["dtype"]}"', self._tuple(value["shape"]), self._tuple(value["strides"])]
        words += [f"{name}={value[name]}" for name in ("memory", "at") if value[name]]
        if value.get("like"):
            words.append(f"like=({', '.join(f'{number:.6g}' for number in value['like'])})")
        return f"tensor({', '.join(words)})"

    def _descriptor(self, value: Mapping[str, Any]) -> str:
        self.names.add("descriptor")
        lists = ", ".join(self._tuple(value[name]) for name in ("shape", "strides", "block_shape"))
        padding = f', padding="{value["padding"]}"' if value["padding"] != "zero" else ""
        return f"descriptor({self._tensor(value['base'])}, {lists}{padding})"

    def _items(self, value: Mapping[str, Any]) -> str:
        items = [self.value(item) for item in value["items"]]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    def _dtype(self, value: Mapping[str, Any]) -> str:
        self.imports.add("from triton import language as tl")
        return f'tl.dtype("{value["name"]}")'

    def _torch(self, value: Mapping[str, Any]) -> str:
        self.imports.add("import torch")
        return f"torch.{value['name']}"

    def _function(self, value: Mapping[str, Any]) -> str:
        self.imports.add(f"import {value['module']}")
        return f"{value['module']}.{value['name']}"
