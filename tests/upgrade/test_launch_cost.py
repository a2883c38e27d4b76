"""What a launch of an upgraded port costs the host: values that share the dictionary of arguments, lean descriptors."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("triton", reason="heuristics and descriptors are Triton's")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from tests.convert.kernels import module_of
from tests.upgrade.kernels import matmul
from tests.upgrade.test_tma import upgraded
from tritonport.convert.snippets import snippet, with_dependencies

HEAD = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n"


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    names = with_dependencies({"launch_heuristics", "tile_descriptor"}, "sm_90")
    parts = [snippet(name, "sm_90") for name in names]
    imports = sorted({line for lines, _ in parts for line in lines})
    text = HEAD + "\n".join([*imports, *(body for _, body in parts)])
    return module_of(text, tmp_path_factory.mktemp("emitted"), "emitted")


def test_a_launch_makes_one_dictionary_for_all_values(emitted: ModuleType) -> None:
    seen: list[dict[str, Any]] = []

    def half(args: dict[str, Any]) -> int:
        seen.append(args)
        return int(args["n"]) // 2

    def quarter(args: dict[str, Any]) -> int:
        seen.append(args)
        return int(args["HALF"]) // 2

    fn = SimpleNamespace(arg_names=["x", "n", "HALF", "QUARTER"], run=lambda *args, **kwargs: (args, kwargs))
    kernel = emitted.launch_heuristics({"HALF": half, "QUARTER": quarter})(fn)
    launched = kernel.run("x", n=8, num_stages=2)
    assert launched == (("x",), {"n": 8, "num_stages": 2, "HALF": 4, "QUARTER": 2})
    assert seen[0] is seen[1]
    assert seen[0] == {"x": "x", "n": 8, "num_stages": 2, "HALF": 4, "QUARTER": 2}


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_a_descriptor_is_made_where_gluon_would_make_it(emitted: ModuleType, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([torch.int8, torch.float16, torch.float32, torch.float64]))
    tensor = torch.empty(4096, dtype=dtype)[data.draw(st.sampled_from([0, 1, 8, 16])) :]
    rank = data.draw(st.integers(1, 3))
    strides = data.draw(st.lists(st.sampled_from([-16, 0, 1, 4, 8, 24, 64]), min_size=rank, max_size=rank))
    extents = st.sampled_from([0, 1, 33, 2**31 - 1, 2**31])
    shape = data.draw(st.lists(extents, min_size=rank, max_size=rank))
    block = [data.draw(st.sampled_from([1, 2, 16, 64])) for _ in range(rank)]
    found = emitted.tile_descriptor(tensor, shape, strides, block)
    size = tensor.element_size()
    copied = (
        size <= 4
        and tensor.data_ptr() % 16 == 0
        and all(stride > 0 and stride * size % 16 == 0 for stride in strides[:-1])
        and strides[-1] == 1
        and all(0 < extent < 2**31 for extent in shape)
        and block[-1] * size >= 16
    )
    assert (found is not None) == copied
    if found is not None:
        # What a descriptor of Gluon asks of itself, this one was asked before.
        assert TensorDescriptor(tensor, shape, strides, block, found.layout).layout == found.layout


def test_names_that_a_file_has_are_left_to_it(tmp_path: Path) -> None:
    own = "def launch_heuristics(values):\n    return values\n\n\nclass TileDescriptor:\n    pass\n\n\n@triton.jit"
    text = upgraded(matmul().replace("@triton.jit", own, 1)).text
    assert "@launch_heuristics_2(\n" in text
    assert "def launch_heuristics_2(values):" in text
    assert "class TileDescriptor_2(TensorDescriptor):" in text
    assert "return TileDescriptor_2(tensor, " in text
    module_of(text, tmp_path, "kernel")
