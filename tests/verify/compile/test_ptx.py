"""Reading PTX: forms of memory, barrier and tensor core instructions."""

import pytest

from tritonport.verify.compile import ptx, ptxas

INLINE = """
    .file 1 "/src" "kernel.py"
    .loc 1 11 7  // kernel.py:11:7
    // begin inline asm
    .loc 1 11 7  // kernel.py:11:7
    mov.u32 %r1, 0x0;
    .loc 1 12 7  // kernel.py:12:7
    @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
    // end inline asm
    // begin inline asm
    @%p1 ld.global.v4.b32 { %r5, %r6, %r7, %r8 }, [ %rd2 + 0 ];
    // end inline asm
    .loc 1 12 7  // kernel.py:12:7
    ld.global.nc.L1::evict_last.b16 %rs1, [%rd3];
    ld.param.b64 %rd4, [kernel_param_0];
    st.shared.v4.b32 [%r9], {%r1, %r2, %r3, %r4};
    ld.local.b32 %r10, [%rd5];
    .loc 2 5 3, function_name $L__info_string0, inlined_at 1 20 5 // helper.py:5:3
    st.global.v2.b64 [%rd6], {%rd7, %rd8};
    .loc 2 5 3, function_name $L__info_string0, inlined_at 1 21 5 // helper.py:5:3
    st.global.b8 [%rd6], %rs2;
"""


def test_one_access_per_source_position() -> None:
    found = [(one.kind, one.width, one.instructions, one.line) for one in ptx.accesses(INLINE)]
    assert found == [("load", 16, 2, 11), ("load", 2, 1, 12), ("store", 16, 1, 5), ("store", 1, 1, 5)]
    assert ptx.accesses(INLINE)[0].path == "kernel.py"


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("ld.global.v8.b32 {%r1}, [%rd1];", ("load", 32)),
        ("ld.acquire.gpu.global.b32 %r1, [%rd1];", ("load", 4)),
        ("@!%p1 st.global.wt.v2.b16 [%rd1], {%rs1, %rs2};", ("store", 4)),
        ("ld.b128 %rq1, [%rd1];", ("load", 16)),
        ("atom.global.gpu.acq_rel.add.v4.f32 {%r1}, [%rd1], {%r2};", ("atomic", 16)),
        ("atom.global.gpu.acq_rel.add.noftz.f16x2 %r1, [%rd1], %r2;", ("atomic", 4)),
        ("atom.global.gpu.relaxed.add.noftz.v4.bf16x2 {%r1}, [%rd1], {%r2};", ("atomic", 16)),
        ("red.global.add.u64 [%rd1], %rd2;", ("atomic", 8)),
        ("cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;", ("async", 16)),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", ("async", 4)),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1];", ("bulk", 0)),
    ],
)
def test_width_of_an_access(instruction: str, expected: tuple[str, int]) -> None:
    (found,) = ptx.accesses(instruction)
    assert (found.kind, found.width) == expected


@pytest.mark.parametrize(
    "instruction",
    [
        "ld.shared.v4.b32 {%r1}, [%r2];",
        "ld.param.b64 %rd1, [p];",
        "st.local.b32 [%rd1], %r1;",
        "atom.shared.add.u32 %r1, [%r2], 1;",
        "cp.async.commit_group;",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group.read 0;",
        "prefetch.global.L2 [%rd1];",
        ".param .u64 .ptr .global .align 1 kernel_param_0,",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];",
        "// ld.global.b32 %r1, [%rd1];",
    ],
)
def test_no_global_access(instruction: str) -> None:
    assert ptx.accesses(instruction) == ()


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma_tf32"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "mma_e4m3_e5m2"),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", "mma_s8"),
        ("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma_bf16"),
        ("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32", "wgmma_tf32"),
        ("tcgen05.mma.cta_group::1.kind::f16", "tcgen05_f16"),
        ("wgmma.commit_group.sync.aligned", None),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64", None),
        ("add.f32", None),
    ],
)
def test_mma_kind(opcode: str, kind: str | None) -> None:
    assert ptx.mma_kind(opcode) == kind


def test_barriers() -> None:
    assert ptx.barriers("bar.sync 0;\n@%p1 bar.sync 0;\nbar.warp.sync -1;\nbarrier.cta.sync.aligned 1, 128;") == 3


def test_ptxas_log() -> None:
    log = (
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Function properties for kernel\n"
        "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size\n"
        "ptxas info    : Function properties for helper\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    )
    assert ptxas.parse(log) == ptxas.PtxasInfo(registers=255, stack=24, spill_stores=16, spill_loads=24)
    assert ptxas.parse("nothing") is None
    assert ptxas.without_log(f"BLOCK is 4\n{log}\nptxas-blackwell info    : Used 3 registers\n") == "BLOCK is 4"


@pytest.mark.parametrize(
    "opcode, meaning",
    [
        ("mul.f32", "mul.f32"),
        ("div.full.f32", "div.full.f32"),
        ("cvt.rn.bf16x2.f32", "cvt.rn.bf16x2.f32"),
        ("cvt.rn.f32.s32", "cvt.rn.f32.s32"),
        ("rem.s64", "rem.s64"),
        ("setp.lt.f32", "setp.f32"),
        ("setp.lt.s32", None),
        ("ld.global.L1::evict_last.v4.b32", "ld.global.L1::evict_last"),
        ("ld.volatile.global.b32", "ld.volatile.global"),
        ("st.shared.v4.b32", None),
        ("atom.global.gpu.acq_rel.add.f32", "atom.global.gpu.acq_rel.add.f32"),
        ("red.global.gpu.relaxed.add.f32", "atom.global.gpu.relaxed.add.f32"),
        ("mov.f32", None),
        ("mad.lo.s32", None),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", None),
    ],
)
def test_what_an_instruction_says(opcode: str, meaning: str | None) -> None:
    assert ptx.meaning_of(opcode) == meaning


def test_meanings_are_listed_once() -> None:
    text = (
        "mul.f32 %f1, %f2, %f3;\n@%p1 mul.f32 %f4, %f2, %f3;\nst.global.v2.b32 [%rd1], {%r1, %r2};\nmov.b32 %r1, 0;\n"
    )
    assert ptx.meanings(text) == ("mul.f32", "st.global")
