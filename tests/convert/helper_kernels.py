"""Kernels with helpers, and more that is awkward: parameters, body, and what stands above the kernel."""

MORE = {
    "a helper that makes tensors of two ranks": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
a = spread(x_ptr, i)
b = spread(x_ptr, i[:, None] * BN + j[None, :])
tl.store(out_ptr + i[:, None] * BN + j[None, :], a[:, None] + b)
""",
        """
@triton.jit
def spread(ptr, offs):
    x = tl.load(ptr + offs)
    return x + tl.zeros(offs.shape, tl.float32)
""",
    ),
    "helpers that make indices along different axes": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
a = row(x_ptr, 0, BM)
b = row(x_ptr, 3, BN)
t = tile(x_ptr, BM, BN)
store(out_ptr, t + a[:, None] * b[None, :], BM, BN)
""",
        """
@triton.jit
def row(ptr, start, N: tl.constexpr):
    return tl.load(ptr + start + tl.arange(0, N))


@triton.jit
def index(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


@triton.jit
def tile(ptr, M: tl.constexpr, N: tl.constexpr):
    return tl.load(ptr + index(M, N))


@triton.jit
def store(ptr, value, M: tl.constexpr, N: tl.constexpr):
    tl.store(ptr + index(M, N), value)
""",
    ),
    "a helper that needs a layout for one of its calls": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i = tl.arange(0, BM)
x = butterfly(butterfly(tl.load(x_ptr + i), BM, 2), BM, 1)
tl.store(out_ptr + i, x)
""",
        """
@triton.jit
def butterfly(x, N: tl.constexpr, STRIDE: tl.constexpr):
    if STRIDE == 1:
        a, b = tl.split(tl.reshape(x, (N // 2, 2)))
        return tl.reshape(tl.join(a + b, a - b), (N,))
    else:
        a, b = tl.split(tl.permute(tl.reshape(x, (N // (2 * STRIDE), 2, STRIDE)), (0, 2, 1)))
        return tl.reshape(tl.permute(tl.join(a + b, a - b), (0, 2, 1)), (N,))
""",
    ),
    "a helper with a pointer that may be None": (
        "x_ptr, none_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = maybe(x_ptr, offs, n) + maybe(none_ptr, offs, n)
x += maybe(ptr=None, offs=offs, n=n, default=2.0)
tl.store(out_ptr + offs, x)
""",
        """
@triton.jit
def maybe(ptr, offs, n, default: tl.constexpr = 0.0):
    if ptr is None:
        return tl.full(offs.shape, default, tl.float32)
    return tl.load(ptr + offs, mask=offs < n, other=default)
""",
    ),
    "a helper with a tile of pointers that may be None": (
        "x_ptr, none_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
tile = i[:, None] * BN + j[None, :]
if none_ptr is None:
    more = None
else:
    more = none_ptr + tile
tl.store(out_ptr + tile, both(more, x_ptr + tile, n, BN))
""",
        """
@triton.jit
def both(more, ptrs, n, BN: tl.constexpr):
    inside = tl.arange(0, BN) < n
    x = tl.load(ptrs, mask=inside[None, :], other=0.0)
    if more is not None:
        x += tl.load(more, mask=inside[None, :], other=0.0)
    return x
""",
    ),
    "a helper whose tile may be a number": (
        "x_ptr, none_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
if none_ptr is None:
    shift = tl.load(x_ptr + 3)
else:
    shift = tl.load(none_ptr + i[:, None] * BN + j[None, :])
x = tl.load(x_ptr + i[:, None] + j[None, :] * BM)
tl.store(out_ptr + i[:, None] + j[None, :] * BM, less(x, shift))
""",
        """
@triton.jit
def less(x, shift):
    return x - shift
""",
    ),
    "what is computed of a tile that may be a number": (
        "x_ptr, none_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
if none_ptr is None:
    shift = tl.load(x_ptr + 3)
else:
    shift = tl.load(none_ptr + i[:, None] * BN + j[None, :])
x = tl.load(x_ptr + i[:, None] + j[None, :] * BM)
twice, half = parts(shift)
x = less(x, shift) - twice + half
tl.store(out_ptr + i[:, None] + j[None, :] * BM, x)
""",
        """
@triton.jit
def parts(x):
    return x * 2, x / 2

@triton.jit
def less(x, shift):
    y = tl.exp(-tl.abs(shift))
    y -= shift * shift
    return x - tl.where(x > 0, y, -shift) * (shift if y.dtype == tl.float32 else 0.5)
""",
    ),
    "a helper whose first tile may be a number": (
        "x_ptr, none_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
tile = i[:, None] * BN + j[None, :]
if none_ptr is None:
    shift = tl.load(x_ptr + 3)
else:
    shift = tl.load(none_ptr + tile)
x = above(shift, tl.load(x_ptr + tile), tl.load(x_ptr + i[:, None] + j[None, :] * BM))
tl.store(out_ptr + tile, x)
""",
        """
@triton.jit
def above(low, x, y):
    return tl.maximum(tl.exp(low) * x, y)
""",
    ),
    "a helper that gives back a tuple, in a loop": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
m, s = tl.full([BM], -1e30, tl.float32), tl.zeros([BM], tl.float32)
for k in range(steps):
    x = tl.load(x_ptr + k * BN + i[:, None] * (BN * 4) + j[None, :])
    m, s = update(m, s, x)
r = update(m, s, tl.load(x_ptr + i[:, None] + j[None, :]))
tl.store(out_ptr + i, m + tl.log(s))
tl.store(out_ptr + 64 + i, r[0])
""",
        """
@triton.jit
def update(m, s, x):
    \"\"\"Online.\"\"\"
    new = tl.maximum(m, tl.max(x, 1))
    s = s * tl.exp(m - new) + tl.sum(tl.exp(x - new[:, None]), 1)
    return new, s
""",
    ),
    "a function as an argument": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
tl.store(out_ptr + offs, apply(x, relu) + apply(tl.sum(x), relu))
""",
        """
@triton.jit
def relu(x):
    return tl.maximum(x, 0)


@triton.jit
def apply(x, f: tl.constexpr):
    return f(x)
""",
    ),
    "a helper that returns early by name": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr, ACT: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
tl.store(out_ptr + offs, act(tl.load(x_ptr + offs), ACT))
""",
        """
@triton.jit
def act(x, NAME: tl.constexpr):
    if NAME == "relu":
        return tl.where(x > 0, x, 0.0)
    elif NAME == "silu":
        return x * tl.sigmoid(x)
    else:
        return x
""",
    ),
    "a helper for program ids": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr, rows",
        """
m, n = swizzle(tl.program_id(0), rows, 2)
i = m * BM + tl.arange(0, BM)
j = n * BN + tl.arange(0, BN)
tl.store(out_ptr + i[:, None] * 64 + j[None, :], tl.load(x_ptr + i[:, None] * 64 + j[None, :]))
""",
        """
@triton.jit
def swizzle(pid, n_m, GROUP: tl.constexpr):
    group = pid // GROUP
    return pid % GROUP, group
""",
    ),
    "a helper for masks of several tiles": (
        "x_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :], mask=inside(i, j, rows, cols), other=0.)
y = tl.load(x_ptr + i[:, None] + j[None, :] * BM, mask=inside(i, j, rows, cols), other=0.)
tl.store(out_ptr + i[:, None] * BN + j[None, :], x + y, mask=inside(i, j, rows, cols))
""",
        """
@triton.jit
def inside(i, j, rows, cols):
    return (i[:, None] < rows) & (j[None, :] < cols)
""",
    ),
    "helpers of helpers": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
tl.store(out_ptr + offs, a(b(c(tl.load(x_ptr + offs)))))
""",
        """
@triton.jit
def c(x):
    return x + 1


@triton.jit
def b(x):
    return c(x) * c(x)


@triton.jit
def a(x):
    return b(x) - c(x)
""",
    ),
    "a helper that only stores": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
copy(x_ptr, out_ptr, offs, n)
copy(x_ptr + 100, out_ptr + 100, offs[:, None] + tl.arange(0, 4)[None, :] * BLOCK, n)
""",
        """
@triton.jit
def copy(src, dst, offs, n):
    tl.store(dst + offs, tl.load(src + offs, mask=offs < n), mask=offs < n)
""",
    ),
    "a scalar through nested ifs": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
s = tl.load(x_ptr)
if s > 0:
    s = s + 1
else:
    if n > 3:
        s = tl.sum(tl.load(x_ptr + offs))
    else:
        s = 0.0
v = tl.zeros([BLOCK], tl.float32)
v += s
if s > 1:
    v += 1
elif s > 0:
    v += 2
else:
    v -= tl.load(x_ptr + offs)
tl.store(out_ptr + offs, v)
""",
        "",
    ),
    "a while loop over a tile": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
k = 0
while tl.max(tl.max(tl.abs(x), 0)) > 1.0:
    x = x / 2
    k += 1
    rows = tl.sum(x, 1)
    x = tl.where(rows[:, None] > 100, 0.0, x)
tl.store(out_ptr + i[:, None] * BN + j[None, :], x + k)
""",
        "",
    ),
    "an index that moves and has two axes": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr",
        """
r = tl.arange(0, BM)
acc = tl.zeros((BM, BM), tl.float32)
for k in range(steps):
    acc += tl.load(x_ptr + r[:, None] * BM + r[None, :])
    r += 1
tl.store(out_ptr + r[:, None] * BM + r[None, :], acc)
""",
        "",
    ),
    "an index that an if changes, on two axes": (
        "x_ptr, out_ptr, n, BM: tl.constexpr",
        """
r = tl.arange(0, BM)
if n > 3:
    r += BM
elif n > 2:
    r = r * 2
x = tl.load(x_ptr + r[:, None] * BM + r[None, :])
tl.store(out_ptr + r[:, None] * BM + r[None, :], x)
""",
        "",
    ),
    "a statistic along both axes": (
        "x_ptr, out_ptr, BM: tl.constexpr",
        """
r = tl.arange(0, BM)
x = tl.load(x_ptr + r[:, None] * BM + r[None, :])
d = tl.sum(x, 1)
e = tl.exp(d)
tl.store(out_ptr + r[:, None] * BM + r[None, :], x * d[:, None] + e[None, :])
tl.store(out_ptr + 1024 + r, d + tl.sum(x, 0))
""",
        "",
    ),
    "products in three dimensions": (
        "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr",
        """
i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
acc = tl.zeros((BM, BN), tl.float32)
for s in range(steps):
    a = tl.load(x_ptr + i[:, None] * 64 + (s * BK + k)[None, :])
    b = tl.load(y_ptr + (s * BK + k)[:, None] * 64 + j[None, :])
    acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
tl.store(out_ptr + i[:, None] * BN + j[None, :], acc)
""",
        "",
    ),
    "reductions of three dimensions": (
        "x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr",
        """
a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
x = tl.load(x_ptr + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
p = tl.sum(x, 0)
q = tl.max(p, axis=1)
r = tl.sum(x, axis=2, keep_dims=True)
s = tl.sum(tl.sum(r, 2), 1)
t = tl.argmax(x, axis=1)
tl.store(out_ptr + b, q)
tl.store(out_ptr + 100 + a, s)
tl.store(out_ptr + 200 + a[:, None] * C + c[None, :], t)
tl.store(out_ptr + 300 + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :], x - r + p[None])
""",
        "",
    ),
    "a subscript of None alone": (
        "x_ptr, out_ptr, BM: tl.constexpr",
        """
r = tl.arange(0, BM)
tl.store(out_ptr + r[:, None] * 0 + r, tl.load(x_ptr + r)[None])
""",
        "",
    ),
    "constants of every kind": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
big = 2 ** 31 - 1
hexa = 0xFF
fl = 1e-6
neg = -3
x = tl.load(x_ptr + offs)
y = tl.where(offs < hexa, x + fl, big)
y = y * neg + (n if n > 3 else -n) + (1 << 4) + (7 // 2) + 7 % 4 + True
tl.store(out_ptr + offs, y)
""",
        "",
    ),
    "masks that are computed": (
        "x_ptr, out_ptr, n, rows, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
a = i < rows
b = j < n
c = a & b | (i == j)
d = ~c
e = c ^ d
x = tl.load(x_ptr + i * BN + j, mask=c, other=0)
x = tl.where(d, 1.0, x)
tl.store(out_ptr + i * BN + j, x, mask=e & (n > 3))
tl.store(out_ptr + 1024 + i, tl.sum(c.to(tl.int32), 1, keep_dims=True))
""",
        "",
    ),
    "a return on a constexpr": (
        "x_ptr, out_ptr, n, YES: tl.constexpr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
if YES:
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    return
tl.store(out_ptr + offs, 0.0)
""",
        "",
    ),
    "a scalar search": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
lo = 0
hi = n
for _ in range(6):
    mid = (lo + hi) // 2
    v = tl.load(x_ptr + mid)
    lo = tl.where(v > 0, lo, mid)
    hi = tl.where(v > 0, mid, hi)
tl.store(out_ptr + offs, tl.zeros((BLOCK,), tl.float32) + lo + hi)
""",
        "",
    ),
    "a search in every lane": (
        "x_ptr, i_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
lo = tl.zeros([BLOCK], tl.int32)
hi = tl.full([BLOCK], 50, tl.int32)
v = tl.load(i_ptr + offs)
for _ in range(6):
    mid = (lo + hi) // 2
    w = tl.load(i_ptr + mid)
    lo = tl.where(w < v, mid, lo)
    hi = tl.where(w < v, hi, mid)
tl.store(out_ptr + offs, lo * 100 + hi)
""",
        "",
    ),
    "pointers that are chosen": (
        "x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
src = x_ptr if n > 60 else y_ptr
if n > 3:
    p = x_ptr
else:
    p = y_ptr
x = tl.load(src + offs) + tl.load(p + offs)
ptrs = tl.where(offs < 10, x_ptr + offs, y_ptr + offs)
tl.store(out_ptr + offs, x + tl.load(ptrs))
""",
        "",
    ),
    "pointers that are cast": (
        "x_ptr, i_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
p = x_ptr.to(tl.pointer_type(tl.int32))
q = i_ptr.to(tl.pointer_type(tl.float32), bitcast=True)
k = tl.load(p + offs)
f = tl.load(q + offs)
tl.store(out_ptr + offs, k.to(tl.float32, bitcast=True) + f * 0)
""",
        "",
    ),
    "libdevice under three names": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
y = libdevice.tanh(x) + tl.extra.cuda.libdevice.pow(tl.abs(x), 2.0) + tanh(x)
y += libdevice.fast_expf(x) + libdevice.tanh(tl.sum(x))
tl.store(out_ptr + offs, y)
t = offs[:, None] + tl.arange(0, 2)[None, :] * BLOCK
tl.store(out_ptr + 1000 + t, libdevice.pow(tl.abs(tl.load(x_ptr + t)), x[:, None]))
""",
        """
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import tanh
""",
    ),
    "every spelling of tl.range": (
        "x_ptr, out_ptr, n, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
for i in tl.range(0, steps, 1, num_stages=2, loop_unroll_factor=2):
    acc += tl.load(x_ptr + i * BLOCK + offs)
for i in tl.range(arg1=0, arg2=n, step=25):
    acc += tl.load(x_ptr + i + offs)
for i in tl.range(steps, step=2):
    acc += i
for i in tl.range(0, step=2, arg2=steps, flatten=True):
    acc += i
for i in tl.range(0, steps, 1, 2):
    acc += i
for i in tl.range(arg1=steps):
    acc += 1
for i in range(2, steps + 2): acc += i
tl.store(out_ptr + offs, acc)
""",
        "",
    ),
    "tuples in tuples": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
pair = (tl.load(x_ptr + offs), tl.load(x_ptr + BLOCK + offs), 3)
a, b = both(pair)
c = (1, 2.0, a)
(d, e), f = (a, b), c[2]
for v in tl.static_range(len(pair)):
    e += v
tl.store(out_ptr + offs, d * e + f * pair[2])
""",
        """
@triton.jit
def both(p):
    return p[0] + p[1], p[0] * p[2]
""",
    ),
    "locals from constexprs": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr",
        """
HALF: tl.constexpr = BLOCK // 2
COUNT = STEPS + 1
offs = tl.arange(0, HALF) + tl.arange(0, BLOCK // 2)
acc = tl.zeros([HALF], dtype=tl.float32)
for i in range(COUNT):
    acc += tl.load(x_ptr + offs + i)
tl.store(out_ptr + offs, acc)
""",
        "",
    ),
    "a size below its first use": (
        "x_ptr, out_ptr, YES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr",
        """
offs = tl.arange(0, BM)
tl.store(out_ptr + 512 + offs, tl.load(x_ptr + offs))
W: tl.constexpr = BN * 2
more = tl.arange(0, W)
tl.store(out_ptr + more, tl.load(x_ptr + more))
""",
        "",
    ),
    "element types of arguments": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
dtype = x_ptr.dtype.element_ty
T: tl.constexpr = x_ptr.dtype.element_ty
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs).to(tl.float32)
z = tl.zeros([BLOCK], dtype=T) + tl.zeros((BLOCK,), dtype)
tl.store(out_ptr + offs, (x + z).to(out_ptr.type.element_ty))
""",
        "",
    ),
    "text that looks like code": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
\"\"\"tl.load is in this text; {offs}\"\"\"
offs = tl.arange(0, BLOCK)
tl.static_assert(BLOCK > 0, f"BLOCK={BLOCK} tl.load")
"just text: tl.store"
assert BLOCK > 1, "tl.load"
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
""",
        "",
    ),
    "parentheses everywhere": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr, BM: tl.constexpr",
        """
offs = ((tl.arange(0, (BLOCK))))
x = (((tl.load)((x_ptr) + (offs))))
r = (tl.arange(0, BM))
y = -(tl.sum((tl.load((x_ptr + (r)[:, (None)] * BM) + (r)[(None), :])), (1)))
tl.store((out_ptr + offs), (x))
tl.store(out_ptr + BLOCK + r, y + (tl.sum(tl.load(x_ptr + r[:, None] * BM + r[None, :]), 0)))
""",
        "",
    ),
    "reductions of bits": (
        "i_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(i_ptr + i[:, None] * BN + j[None, :])
y = tl.xor_sum(x, 1) + tl.reduce_or(x, 1)
z = tl.xor_sum(tl.load(i_ptr + j), 0, keep_dims=True) + tl.reduce_or(tl.load(i_ptr + j), axis=0, keep_dims=True)
tl.store(out_ptr + i, y)
tl.store(out_ptr + 100 + j, z + j)
tl.store(out_ptr + 200 + j[None, :], tl.sum(x, keep_dims=True) + tl.max(j, 0, keep_dims=True) + 0 * j)
""",
        "",
    ),
    "atomics on bits": (
        "i_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
tl.atomic_and(i_ptr + offs, 0x0F)
tl.atomic_or(i_ptr + offs, 0x20, mask=offs < n)
tl.atomic_xor(i_ptr + offs, offs, offs < n)
old = tl.atomic_min(i_ptr + offs, n)
tl.atomic_cas(i_ptr + 100 + offs, offs, old)
(i_ptr + 200 + offs).atomic_max(7)
tl.store(out_ptr + offs, old)
""",
        "",
    ),
    "casts by the name of the type": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
tl.store(out_ptr + offs, tl.cast(x, tl.int32) + tl.cast(n, tl.float32))
""",
        "",
    ),
    "maxima of half precision with their indices": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :]).to(tl.bfloat16)
v, k = tl.max(x, 1, return_indices=True, return_indices_tie_break_left=False)
w, l = tl.min(x, 0, return_indices=True, keep_dims=True)
m, a = tl.min(x, 1, return_indices=True, return_indices_tie_break_left=False)
tl.store(out_ptr + i, v.to(tl.float32) - m.to(tl.float32))
tl.store(out_ptr + 100 + j[None, :], w.to(tl.float32) * l)
tl.store(out_ptr + 200 + i, tl.max(x, axis=1).to(tl.float32) + 0 * (k + a))
""",
        "",
    ),
    "a product in half precision": (
        "x_ptr, y_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
a = tl.load(x_ptr + i[:, None] * BN + j[None, :]).to(tl.float16)
b = tl.load(y_ptr + j[:, None] * BN + j[None, :]).to(tl.float16)
c = tl.dot(a, b, out_dtype=tl.float16)
tl.store(out_ptr + i[:, None] * BN + j[None, :], c.to(tl.float32))
""",
        "",
    ),
    "pointers as the last addend": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(n + x_ptr + offs) + tl.load(offs + x_ptr)
tl.store(offs + out_ptr, x)
""",
        "",
    ),
    "a local named range": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
range = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
for i in tl.range(0, steps):
    acc += tl.load(x_ptr + range + i)
tl.store(out_ptr + range, acc)
""",
        "",
    ),
    "bound and used under one constexpr": (
        "x_ptr, out_ptr, YES: tl.constexpr, BLOCK: tl.constexpr, BM: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
if YES:
    r = tl.arange(0, BM)
    w = tl.load(x_ptr + r)
x = tl.load(x_ptr + offs)
if YES:
    x += tl.sum(w)
    tl.store(out_ptr + 512 + r, w)
tl.store(out_ptr + offs, x)
""",
        "",
    ),
    "a tile from outside of the loop in another order": (
        "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
t = tl.load(y_ptr + j[None, :] * BM + i[:, None])
t = tl.exp(t)
acc = tl.zeros((BM, BN), tl.float32)
for k in range(steps):
    acc += tl.load(x_ptr + k * BM * BN + i[:, None] * BN + j[None, :]) * t
tl.store(out_ptr + i[:, None] * BN + j[None, :], acc)
""",
        "",
    ),
    "tiles of two orders in an if": (
        "x_ptr, y_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
if n > 3:
    t = tl.load(y_ptr + j[None, :] * BM + i[:, None])
else:
    t = tl.load(x_ptr + i[:, None] * BN + j[None, :])
tl.store(out_ptr + i[:, None] * BN + j[None, :], t)
""",
        "",
    ),
    "a helper that gives back nested tuples": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
(p, q), r = parts(x_ptr, i, j, BN)
tl.store(out_ptr + i, p)
tl.store(out_ptr + 100 + j, q)
tl.store(out_ptr + 200, r)
""",
        """
@triton.jit
def parts(ptr, i, j, N: tl.constexpr):
    x = tl.load(ptr + i[:, None] * N + j[None, :])
    return (tl.sum(x, 1), tl.sum(x, 0)), tl.sum(x)
""",
    ),
    "a while loop with a flag": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
i = 0
done = False
acc = tl.zeros([BLOCK], tl.float32)
while not done:
    acc += tl.load(x_ptr + i * BLOCK + offs)
    i += 1
    done = i >= 3
tl.store(out_ptr + offs, acc)
""",
        "",
    ),
    "chunks with a tail": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
for start in range(0, n, BLOCK):
    offs = start + tl.arange(0, BLOCK)
    m = offs < n
    x = tl.load(x_ptr + offs, mask=m, other=float("-inf"))
    x = tl.where(m, x, -float("inf"))
    if start + BLOCK > n:
        x = x * 2
    tl.store(out_ptr + offs, x, mask=m)
""",
        "",
    ),
    "a tuple of two slices that is carried": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
s = (tl.zeros([BM], tl.float32), tl.zeros([BN], tl.float32))
for k in range(steps):
    x = tl.load(x_ptr + k + i[:, None] * BN + j[None, :])
    s = add2(s, (tl.sum(x, 1), tl.sum(x, 0)))
tl.store(out_ptr + i, s[0])
tl.store(out_ptr + 64 + j, s[1])
""",
        """
@triton.jit
def add2(a, b):
    return a[0] + b[0], a[1] + b[1]
""",
    ),
    "a helper that moves pointers": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
p = x_ptr + tl.arange(0, BLOCK)
q = out_ptr + tl.arange(0, BLOCK)
for _ in range(steps):
    p, q = step(p, q, BLOCK)
""",
        """
@triton.jit
def step(p, q, N: tl.constexpr):
    tl.store(q, tl.load(p) * 2)
    return p + N, q + N
""",
    ),
    "sizes that are numbers": (
        "x_ptr, out_ptr",
        """
offs = tl.arange(0, 128)
r = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
tl.store(out_ptr + 128 + r, tl.load(x_ptr + r))
""",
        "",
    ),
    "a helper whose loop reads a column in its own layout, and results that are added up": (
        "x_ptr, m_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
m = tl.load(m_ptr + tl.arange(0, BM))[:, None]
total = products(m, x_ptr, 2, BM, BN // 2)
total += products(m, x_ptr + BN, 1, BM, BN)
tl.store(out_ptr, total)
""",
        """
@triton.jit
def products(m, x_ptr, count, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    total = 0.0
    for block in range(count):
        total += tl.sum(tl.load(x_ptr + rows[:, None] * 64 + block * COLS + cols[None, :]) * m)
    return total
""",
    ),
    "a tuple of indices that tiles of two orders read": (
        "x_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
where = (i[:, None], j[None, :])
x = tl.load(x_ptr + dotted(where, (BN, 1)), mask=j[None, :] < n, other=0.0)
tl.store(out_ptr + dotted(where, (1, BM)), x, mask=j[None, :] < n)
""",
        """
@triton.jit
def dotted(indices, strides):
    offset = 0
    for axis in tl.static_range(len(strides)):
        offset += indices[axis] * strides[axis]
    return offset
""",
    ),
}
