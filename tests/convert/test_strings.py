"""Files of torch.compile: kernels in strings, with helpers of torch."""

import ast

from tritonport.convert import convert_text
from tritonport.source.embedded import embedded_modules

FILE = """async_compile = AsyncCompile()


k = async_compile.triton('k', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics

@triton_heuristics.reduction(
    triton_meta={'signature': {'in_ptr': '*bf16', 'out_ptr': '*fp32', 'xnumel': 'constexpr', 'XBLOCK': 'constexpr'},
                 'constants': {'xnumel': 1}},
)
@triton.jit
def k(in_ptr, out_ptr, xnumel, XBLOCK : tl.constexpr):
    xnumel = 1
    index = tl.arange(0, XBLOCK)[None, :]
    value = tl.load(in_ptr + index).to(tl.float32)
    best = triton_helpers.max2(value, 1)[:, None]
    tl.store(out_ptr + tl.full([1, 1], 0, tl.int32), best, None)
''', device_str='cuda')
"""


def test_the_kernel_and_the_helpers_it_uses() -> None:
    result = convert_text(FILE, path="<text>")
    assert [(kernel.name, kernel.line, kernel.status) for kernel in result.kernels] == [("k", 15, "converted")]
    (string,) = embedded_modules(result.text)
    names = [node.name for node in ast.parse(string.text).body if isinstance(node, ast.FunctionDef)]
    assert names[-4:] == ["maximum", "max2", "kernel_source", "k"]
    assert "return gl.reduce(a, dim, maximum)" in string.text
    assert "@triton_heuristics.reduction(\n" in string.text
    assert result.text.startswith(FILE[: FILE.index("import triton.language")].rstrip("\n"))
    assert result.text.endswith("''', device_str='cuda')\n")


def test_converting_again_changes_nothing() -> None:
    first = convert_text(FILE, path="<text>")
    again = convert_text(first.text, path="<text>")
    assert again.text == first.text
    assert {kernel.status for kernel in again.kernels} == {"already"}
