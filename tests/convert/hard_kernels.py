"""Valid Triton that is awkward to port, by what is awkward about it: parameters and body of one kernel each.

`test_hard_kernels.py` runs every one and its port; `kernels.py` says what the parameters stand for.
"""

SCOPES = {
    "a name with two shapes": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
t = tl.arange(0, BN)
x = tl.load(x_ptr + t)
tl.store(out_ptr + t, x)
t = tl.arange(0, BM)
x = tl.load(x_ptr + 100 + t)
tl.store(out_ptr + 100 + t, x * 2)
x = tl.load(x_ptr + t[:, None] * BN + tl.arange(0, BN)[None, :])
tl.store(out_ptr + 512 + t[:, None] * BN + tl.arange(0, BN)[None, :], x)
""",
    ),
    "a name that hides a module": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
triton = tl.arange(0, BLOCK)
gl = tl.load(x_ptr + triton)
gluon = gl + 1
tl.store(out_ptr + triton, gluon * gl)
""",
    ),
    "names of what a port adds": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr, BM: tl.constexpr",
        """
layout = tl.arange(0, BLOCK)
unit = tl.load(x_ptr + layout)
coalesced = unit * 2
element_bits = coalesced + unit
tl.store(out_ptr + layout, element_bits)
out_layout = tl.arange(0, BM)
tl.store(out_ptr + 128 + out_layout, tl.load(x_ptr + out_layout))
""",
    ),
    "names of built-in functions": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
max = tl.arange(0, BLOCK)
min = max < n
float = tl.load(x_ptr + max, min, 0.)
len = tl.sum(float)
tl.store(out_ptr + max, float + len, min)
""",
    ),
    "bound in one branch only": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
if n > 3:
    y = x * 2
    tl.store(out_ptr + offs, y)
y = x + 1
tl.store(out_ptr + BLOCK + offs, y)
""",
    ),
    "bound on a constexpr": (
        "x_ptr, out_ptr, YES: tl.constexpr, NO: tl.constexpr, BLOCK: tl.constexpr",
        """
if YES:
    offs = tl.arange(0, BLOCK)
else:
    offs = tl.arange(0, BLOCK) * 2
if NO:
    x = tl.load(x_ptr + offs)
elif YES:
    x = tl.load(x_ptr + offs) * 3
else:
    x = tl.zeros([BLOCK], tl.float32)
tl.store(out_ptr + offs, x)
""",
    ),
    "another rank on the other side of a constexpr": (
        "x_ptr, out_ptr, YES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr",
        """
rows = tl.arange(0, BM)
if YES:
    x = tl.load(x_ptr + rows[:, None] * BN + tl.arange(0, BN)[None, :])
    s = tl.sum(x, 1)
else:
    s = tl.load(x_ptr + rows)
tl.store(out_ptr + rows, s)
""",
    ),
    "swapped in one statement": (
        "x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
a, b = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
a, b = b, a
(a, b) = (b - a, a)
tl.store(out_ptr + offs, a)
tl.store(out_ptr + BLOCK + offs, b)
""",
    ),
    "swapped in a loop": (
        "x_ptr, y_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
a = tl.load(x_ptr + offs)
b = tl.load(y_ptr + offs)
for _ in range(steps):
    a, b = b, a + b
tl.store(out_ptr + offs, a)
tl.store(out_ptr + BLOCK + offs, b)
""",
    ),
    "pointers that take turns": (
        "x_ptr, y_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
p, q = x_ptr + offs, y_ptr + offs
total = tl.zeros((BLOCK,), dtype=tl.float32)
for k in range(steps):
    total += tl.load(p) * (k + 1)
    p, q = q, p
tl.store(out_ptr + offs, total)
""",
    ),
    "indices that take turns": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
here = tl.arange(0, BM)
there = tl.arange(0, BM) + BM
cols = tl.arange(0, BN)
acc = tl.zeros((BM, BN), tl.float32)
for i in range(steps):
    acc += tl.load(x_ptr + here[:, None] * BN + cols[None, :])
    here, there = there, here
tl.store(out_ptr + here[:, None] * BN + cols[None, :], acc)
""",
    ),
    "a loop variable that is used again": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
for i in range(3):
    acc += tl.load(x_ptr + i * BLOCK + offs)
for i in range(2):
    acc -= tl.load(x_ptr + (i + 5) * BLOCK + offs)
for offs_i in tl.static_range(2):
    acc += offs_i
tl.store(out_ptr + offs, acc)
""",
    ),
    "first bound in a loop": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
for i in range(3):
    offs = i * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x)
""",
    ),
    "two statements on a line": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK); mask = offs < n  # both
x = tl.load(x_ptr + offs, mask); x *= 2; tl.store(out_ptr + offs, x, mask)
""",
    ),
    "two statements on a line and two layouts": (
        "x_ptr, out_ptr, n, BM: tl.constexpr",
        """
r = tl.arange(0, BM); k = r < n  # one index, two axes
x = tl.load(x_ptr + r[:, None] * BM + r[None, :], mask=k[:, None] & k[None, :], other=0); y = x + 1
if n > 3: y += 1; y *= 2
tl.store(out_ptr + r[:, None] * BM + r[None, :], y, mask=k[:, None] & k[None, :])
""",
    ),
    "parameters that change": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
x_ptr += tl.program_id(0) * BLOCK
out_ptr = out_ptr + tl.program_id(0) * BLOCK
n -= tl.program_id(0) * 10
offs = tl.arange(0, BLOCK)
x_ptr += offs
tl.store(out_ptr + offs, tl.load(x_ptr, offs < n), offs < n)
""",
    ),
}

LOOPS = {
    "nested, with what they carry": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
rows = tl.arange(0, BM)
total = tl.zeros([BM], tl.float32)
for i in range(steps):
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for j in range(0, 2):
        cols = j * BN + tl.arange(0, BN)
        acc += tl.load(x_ptr + rows[:, None] * (2 * BN) + cols[None, :] + i)
    total += tl.sum(acc, axis=1)
tl.store(out_ptr + rows, total)
""",
    ),
    "a row and a column statistic": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
by_row = tl.zeros([BM], tl.float32)
by_col = tl.zeros([BN], tl.float32)
for i in range(steps):
    x = tl.load(x_ptr + i * BM * BN + rows[:, None] * BN + cols[None, :])
    by_row += tl.sum(x, 1)
    by_col += tl.sum(x, 0)
tl.store(out_ptr + rows, by_row)
tl.store(out_ptr + 100 + cols, by_col)
""",
    ),
    "a maximum that is carried, and rescales": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
m = tl.full([BM], float("-inf"), tl.float32)
s = tl.zeros([BM], tl.float32)
acc = tl.zeros([BM, BN], tl.float32)
for i in range(steps):
    x = tl.load(x_ptr + i * BM * BN + rows[:, None] * BN + cols[None, :])
    new = tl.maximum(m, tl.max(x, 1))
    scale = tl.exp(m - new)
    p = tl.exp(x - new[:, None])
    s = s * scale + tl.sum(p, 1)
    acc = acc * scale[:, None] + p
    m = new
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], acc / s[:, None])
""",
    ),
    "pointers that are carried": (
        "x_ptr, out_ptr, rows, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
src = x_ptr + offs
dst = out_ptr + offs
for row in range(rows):
    tl.store(dst, tl.load(src) + 1)
    src += BLOCK
    dst = dst + BLOCK
""",
    ),
    "a pointer tile that is carried in two dimensions": (
        "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
xs = x_ptr + i[:, None] * 128 + j[None, :]
ys = y_ptr + i[:, None] + j[None, :] * 128
acc = tl.zeros((BM, BN), tl.float32)
for k in range(steps):
    acc += tl.load(xs) * tl.load(ys)
    xs += BN
    ys += BM
tl.store(out_ptr + i[:, None] * BN + j[None, :], acc)
""",
    ),
    "a scalar that becomes a vector": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
base = 0
acc = 0.0
for i in range(steps):
    acc += tl.sum(tl.load(x_ptr + base + offs))
    base += BLOCK
tl.store(out_ptr + offs, acc + tl.zeros([BLOCK], tl.float32))
""",
    ),
    "a tuple that is carried": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
state = (tl.zeros([BLOCK], tl.float32), tl.full([BLOCK], 1.0, tl.float32))
for i in range(steps):
    x = tl.load(x_ptr + i * BLOCK + offs)
    state = (state[0] + x, state[1] * 2)
a, b = state
tl.store(out_ptr + offs, a)
tl.store(out_ptr + BLOCK + offs, b)
""",
    ),
    "static ranges over indices": (
        "x_ptr, out_ptr, STEPS: tl.constexpr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
for i in tl.static_range(STEPS):
    for j in tl.static_range(1, 5, 2):
        if i == j:
            acc += tl.load(x_ptr + i * BLOCK + offs)
        else:
            acc -= tl.load(x_ptr + j * BLOCK + offs)
tl.store(out_ptr + offs, acc)
""",
    ),
    "while, with a run-time test": (
        "x_ptr, out_ptr, steps, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
i = 0
while (i < steps) & (tl.sum(acc) < 1e9):
    acc += tl.load(x_ptr + i * BLOCK + offs)
    i += 1
tl.store(out_ptr + offs, acc)
""",
    ),
    "no iteration at all": (
        "x_ptr, out_ptr, zero, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
acc = tl.full((BM, BN), 3.0, tl.float32)
for i in range(zero):
    acc += tl.load(x_ptr + rows[:, None] * BN + cols[None, :])
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], acc)
""",
    ),
    "backwards, with a step that is an argument": (
        "x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
acc = tl.zeros([BLOCK], tl.float32)
for i in range(128, 0, -64):
    acc = acc * 2 + tl.load(x_ptr + i + offs)
for i in tl.range(0, n, stride):
    acc += tl.load(x_ptr + i + offs)
tl.store(out_ptr + offs, acc)
""",
    ),
    "if in a loop": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
acc = tl.zeros((BM, BN), tl.float32)
for i in range(steps):
    x = tl.load(x_ptr + i + rows[:, None] * BN + cols[None, :])
    if i % 2 == 0:
        acc += x
    else:
        acc -= tl.sum(x, 1)[:, None]
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], acc)
""",
    ),
    "a helper in a loop": (
        "x_ptr, out_ptr, steps, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
acc = tl.zeros((BM, BN), tl.float32)
for i in range(steps):
    x = tl.load(x_ptr + i + rows[:, None] * BN + cols[None, :])
    acc += relu(x)
    acc += relu(tl.sum(x, 1))[:, None]
    acc += relu(tl.sum(x, 0))
    acc += relu(tl.sum(x))
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], acc)
""",
    ),
}

SHAPES = {
    "a local compile-time size": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
WIDE: tl.constexpr = BM * BN // 2
HALF: tl.constexpr = WIDE // 2
wide = tl.arange(0, WIDE)
half = tl.arange(0, HALF)
tl.store(out_ptr + wide, tl.load(x_ptr + wide))
tl.store(out_ptr + WIDE + half, tl.load(x_ptr + half))
""",
    ),
    "a size that a flag decides": (
        "x_ptr, out_ptr, YES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr",
        """
SIZE: tl.constexpr = BM if YES else BN
offs = tl.arange(0, SIZE)
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
""",
    ),
    "a size that an if decides": (
        "x_ptr, out_ptr, YES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr",
        """
if YES:
    SIZE: tl.constexpr = BM
else:
    SIZE: tl.constexpr = BN
offs = tl.arange(0, SIZE)
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
""",
    ),
    "a size that is a plain local": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
size: tl.constexpr = BM * 2
offs = tl.arange(0, size) + tl.arange(0, BM * 2)
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
""",
    ),
    "the power of two above": (
        "x_ptr, out_ptr, NC: tl.constexpr",
        """
WIDTH: tl.constexpr = triton.next_power_of_2(NC)
offs = tl.arange(0, WIDTH)
tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < NC, other=-1.0))
""",
    ),
    "a range that does not start at zero": (
        "x_ptr, out_ptr, BLOCK: tl.constexpr",
        """
offs = tl.arange(BLOCK, 2 * BLOCK)
more = tl.arange(BLOCK, BLOCK + BLOCK)
tl.store(out_ptr + offs, tl.load(x_ptr + more))
""",
    ),
    "shapes of other tensors": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
rows, cols = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + rows[:, None] * BN + cols[None, :])
z = tl.zeros(x.shape, dtype=x.dtype)
w = tl.full((x.shape[0], x.shape[1]), 2.0, x.dtype)
v = tl.zeros_like(x) + tl.zeros([x.shape[0]], x.dtype)[:, None]
tl.store(out_ptr + rows[:, None] * BN + cols[None, :], x * w + z + v)
""",
    ),
    "one range in three roles": (
        "x_ptr, out_ptr, BM: tl.constexpr",
        """
r = tl.arange(0, BM)
v = tl.load(x_ptr + r)
t = tl.load(x_ptr + r[:, None] * BM + r[None, :])
tl.store(out_ptr + r[:, None] * BM + r[None, :], t + v[None, :] - v[:, None])
tl.store(out_ptr + 1024 + r, v)
""",
    ),
    "a mask for several tiles": (
        "x_ptr, y_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr",
        """
i = tl.arange(0, BM)
j = tl.arange(0, BN)
inside = (i < rows)[:, None] & (j < cols)[None, :]
x = tl.load(x_ptr + i[:, None] * BN + j[None, :], inside, other=0.)
y = tl.load(y_ptr + j[None, :] * BM + i[:, None], inside, other=0.)
s = tl.sum(tl.where(inside, x + y, 0.), 1)
tl.store(out_ptr + i[:, None] * BN + j[None, :], x + y, inside)
tl.store(out_ptr + 1024 + j[None, :] * BM + i[:, None], x - y, inside)
tl.store(out_ptr + 2048 + i, s, i < rows)
""",
    ),
    "slices of slices": (
        "x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr",
        """
a = tl.arange(0, A)
b = tl.arange(0, B)
c = tl.arange(0, C)
ab = a[:, None] * B + b
abc = ab[:, :, None] * C + c
x = tl.load(x_ptr + abc)
m = tl.max(x, 2)
s = tl.sum(x - m[:, :, None], axis=1)
tl.store(out_ptr + abc, x + s[:, None, :] + m[:, :, None])
""",
    ),
    "four dimensions": (
        "x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr",
        """
a, b, c, d = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C), tl.arange(0, D)
ab = a[:, None, None, None] * B * C * D + b[None, :, None, None] * C * D
offs = ab + c[None, None, :, None] * D + d[None, None, None, :]
x = tl.load(x_ptr + offs)
y = tl.load(x_ptr + 512 + b[:, None, None] * C + c[:, None])
s = tl.sum(tl.sum(x, 3), 1)
tl.store(out_ptr + offs, x * y)
tl.store(out_ptr + 1024 + a[:, None] * C + c[None, :], s)
""",
    ),
    "negative axes and kept dimensions": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
x = tl.load(x_ptr + i * BN + j)
top = tl.max(x, axis=-1, keep_dims=True)
low = x.min(-2, keep_dims=True)
tl.store(out_ptr + i * BN + j, x - top + low)
tl.store(out_ptr + 1024 + i, top)
tl.store(out_ptr + 2048 + j, low)
""",
    ),
    "ranks that are padded on the left": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
bias = tl.load(x_ptr + j)
x = tl.load(x_ptr + i[:, None] * BN + j)
x += bias
x = bias + x
x = tl.where(j > 3, x, bias)
x = tl.maximum(bias, x)
x = x if BM > 1 else bias
tl.store(out_ptr + (i[:, None] * BN + j), x, mask=j < 30)
""",
    ),
    "a row spread over a tile": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
row = tl.load(x_ptr + j)
tile = tl.broadcast_to(row[None, :], (BM, BN))
tile = tile + tl.broadcast_to(row[None, :], [BM, BN]) + row[None, :].broadcast_to(BM, BN)
col = tl.load(x_ptr + i).expand_dims(1)
tile += tl.expand_dims(tl.load(x_ptr + i), axis=-1) * col
a, b = tl.broadcast(col, row[None, :])
tl.store(out_ptr + i[:, None] * BN + j[None, :], tile + a * b)
""",
    ),
    "augmented with a lower rank": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
x *= tl.load(x_ptr + j)
x -= tl.sum(x, 0)
x /= 2
x += 1 if BN > 3 else 2
m = j < 20
m &= j > 2
v = tl.load(x_ptr + j)
v = v[None, :]
v += x
tl.store(out_ptr + i[:, None] * BN + j[None, :], v, m)
""",
    ),
    "an index that grows a dimension": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
offs = tl.arange(0, BN)
offs = offs + tl.arange(0, BM)[:, None] * BN
offs += 1
x = tl.load(x_ptr + offs)
offs -= 1
tl.store(out_ptr + offs, x)
""",
    ),
    "a transposed tile": (
        "x_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr",
        """
i = tl.arange(0, BM)
j = tl.arange(0, BN)
m = (i[:, None] < rows) & (j[None, :] < cols)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :], m)
tl.store(out_ptr + j[None, :] * BM + i[:, None], x, m)
""",
    ),
    "indices read from memory": (
        "x_ptr, i_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i = tl.arange(0, BM)
row = tl.load(i_ptr + i)
j = tl.arange(0, BN)
x = tl.load(x_ptr + row[:, None] * BN + j[None, :])
tl.store(out_ptr + i[:, None] * BN + j[None, :], x)
tl.store(out_ptr + 2048 + i, tl.load(x_ptr + row))
""",
    ),
    "a scalar that gets a dimension": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
row = tl.program_id(0)[None]
carry = tl.zeros([1], tl.float32)
for start in range(0, n, BLOCK):
    x = tl.load(x_ptr + start + offs, mask=start + offs < n, other=0.)
    total = tl.sum(x, 0)
    tl.store(out_ptr + start + row[:, None] + offs[None, :], (total[None] - tl.cumsum(x, 0) + carry)[None, :])
    carry += total[None]
x = tl.load(x_ptr[None, None] + offs[None, :])
tl.store((out_ptr + 512)[None] + offs, tl.sum(x * n[None, None], 0))
""",
    ),
}

CALLS = {
    "conversions of scalars": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK).to(tl.int64)
pid = tl.program_id(0).to(tl.int64)
m = n.to(tl.int64)
s = tl.load(x_ptr + pid).to(tl.float64)
t = tl.cast(tl.sum(tl.load(x_ptr + offs)), tl.float32)
mask = offs < m
tl.store(out_ptr + pid * BLOCK + offs, (tl.load(x_ptr + offs) + s.to(tl.float32) + t).to(tl.float32), mask)
""",
    ),
    "chained methods": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :]).to(tl.float64).sum(axis=0).to(tl.float32)
y = tl.load(x_ptr + j).abs().to(tl.int32).to(tl.float32).cumsum(0)
tl.store(out_ptr + j, (x + y).exp().log().sqrt())
tl.store(out_ptr + 1024 + tl.arange(0, BN)[None, :], (x[None, :] - y[None, :]).max(0, keep_dims=True))
""",
    ),
    "methods that store": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
old = (out_ptr + offs).atomic_xchg(1.0)
(out_ptr + offs).store(tl.load(x_ptr + offs) * 2, mask=offs < n)
""",
    ),
    "reductions inside of expressions": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
y = x / (tl.sum(tl.exp(x - tl.max(x, 1)[:, None]), 1)[:, None] + tl.sum(tl.abs(x)))
tl.store(out_ptr + i[:, None] * BN + j[None, :], y)
""",
    ),
    "indices of maxima": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
v, k = tl.max(x, 1, return_indices=True)
w, l = tl.min(x, axis=0, return_indices=True)
tl.store(out_ptr + i, v + k)
tl.store(out_ptr + 100 + j, w * l)
tl.store(out_ptr + 200 + i, tl.argmax(x, 1) - x.argmin(axis=1))
tl.store(out_ptr + 300 + j, tl.argmin(x, axis=0, tie_break_left=False) * 0 + tl.argmax(x, -2))
""",
    ),
    "scans and reductions of tuples": (
        "x_ptr, y_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
y = tl.load(y_ptr + i[:, None] * BN + j[None, :])
a, b = tl.associative_scan((x, y), 1, pair)
c, d = tl.reduce((x, y), axis=1, combine_fn=pair)
e = tl.associative_scan(tl.cumsum(x, 0), axis=0, combine_fn=add, reverse=True)
tl.store(out_ptr + i[:, None] * BN + j[None, :], a + b + e)
tl.store(out_ptr + 1024 + i, c)
tl.store(out_ptr + 1100 + i, d)
tl.store(out_ptr + 1200, tl.reduce(tl.reduce(x, 1, add), 0, add))
""",
    ),
    "atomics of all shapes": (
        "i_ptr, out_ptr, n, BLOCK: tl.constexpr, BM: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
tl.store(out_ptr + offs, offs.to(tl.float32))
old = tl.atomic_add(i_ptr + offs, 1, mask=offs < n)
tl.atomic_max(i_ptr + offs, old + 5)
tl.atomic_add(i_ptr + 100, tl.sum(old), sem="relaxed")
r = tl.arange(0, BM)
tl.atomic_add(i_ptr + 200 + r[:, None] * BM + r[None, :], r[:, None] + r[None, :])
tl.atomic_xchg(i_ptr + 1000 + offs, 3)
tl.atomic_cas(i_ptr + 1500, 7, 8)
""",
    ),
    "atomics that add a number": (
        "out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
tl.store(out_ptr + offs, offs + 0.0)
tl.debug_barrier()
tl.atomic_add(out_ptr + offs, 1.0, offs < n)
tl.atomic_add(out_ptr + offs, tl.sum(offs).to(tl.float32), mask=offs < n)
""",
    ),
    "random numbers": (
        "out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
a = tl.rand(n, offs)
b = tl.randint(n, offs[:, None] + tl.arange(0, 4)[None, :] * 64)
c = tl.randn(1234, offs, n_rounds=7)
d, e, f, g = tl.rand4x(n, offs)
tl.store(out_ptr + offs, a + c + d * e + f * g)
tl.store(out_ptr + 1024 + offs[:, None] * 4 + tl.arange(0, 4)[None, :], b.to(tl.float32))
""",
    ),
    "histogram and gather": (
        "i_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr, BM: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
values = tl.load(i_ptr + offs, mask=offs < n, other=0)
counts = tl.histogram(values, 64)
some = tl.histogram(values, 64, mask=offs < n)
tl.store(out_ptr + offs, (counts * 1000 + some).to(tl.float32))
x = tl.load(x_ptr + offs)
tl.store(out_ptr + 128 + offs, tl.gather(x, values, 0))
r = tl.arange(0, BM)
t = tl.load(x_ptr + r[:, None] * BM + r[None, :])
tl.store(out_ptr + 1024 + r[:, None] * BM + r[None, :], tl.gather(t, (t.to(tl.int32) + 64) % BM, axis=1))
""",
    ),
    "softmax and sigmoid": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
tl.store(out_ptr + i[:, None] * BN + j[None, :], tl.softmax(x, 0) + tl.sigmoid(x))
tl.store(out_ptr + 1024 + j, tl.softmax(tl.load(x_ptr + j)) * tl.sigmoid(tl.sum(x)))
""",
    ),
    "masks of scalars and of lower rank": (
        "x_ptr, out_ptr, n, rows, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
p = i[:, None] * BN + j[None, :]
x = tl.load(x_ptr + p, mask=j < 20, other=-1.0)
y = tl.load(x_ptr + p, mask=n > 3, other=2.0)
z = tl.load(x_ptr + p, mask=(i < rows)[:, None], other=x)
tl.store(out_ptr + p, x + y + z, mask=n > 3)
tl.store(out_ptr + 1024 + p, 1.5)
tl.store(out_ptr + 2048 + p, tl.load(x_ptr + j))
tl.store(out_ptr + 3000, n)
tl.store(out_ptr + 3001, tl.load(x_ptr, mask=n < 3, other=0.25))
""",
    ),
    "hints and checks": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
tl.static_assert(BLOCK % 16 == 0, "BLOCK is a multiple of 16")
tl.assume(n > 0)
offs = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), BLOCK), BLOCK)
tl.device_assert(n > 0, "n")
tl.static_print("BLOCK", BLOCK)
x = tl.load(x_ptr + offs, eviction_policy="evict_first", volatile=False)
tl.debug_barrier()
tl.store(out_ptr + offs, x, cache_modifier=".wb")
""",
    ),
    "arithmetic of every kind": (
        "x_ptr, i_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
k = tl.load(i_ptr + offs)
y = -x - (not (n > 60)) + (~k & 255) + (k ^ 3) + (k << 2) + (k >> 1) + k // 3 + k % 7 + x / 3
y = tl.where((x > 0) & (k < 30) | (x < -2), y, tl.fma(x, y, x))
y = tl.clamp(y, -100.0, 100.0) + tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
y += x.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True)
y += x.to(tl.float16, fp_downcast_rounding="rtz").to(tl.float32)
y = tl.where(k == 3, 0.0, y) + tl.cdiv(k, 4) + tl.umulhi(k, k) + tl.abs(x)
y += tl.floor(x) + tl.exp2(x) + tl.rsqrt(x * x + 1)
z = x > 0 and k < 40
w = x > 0 or k < 40
tl.store(out_ptr + offs, tl.where(z, y, tl.where(w, 1.0, 2.0)))
""",
    ),
    "min and max of Python": (
        "x_ptr, out_ptr, n, BLOCK: tl.constexpr",
        """
count: tl.constexpr = min(BLOCK, 32)
last = min(n, 20)
offs = tl.arange(0, count)
tl.store(out_ptr + offs, tl.load(x_ptr + offs) + max(last, 3) + float(2) + int(3.0), mask=offs < last)
""",
    ),
    "a conditional expression": (
        "x_ptr, out_ptr, n, YES: tl.constexpr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs) if YES else tl.zeros([BLOCK], tl.float32)
s = 1.0 if n > 3 else 2.0
t = x if n > 3 else x * 2
tl.store(out_ptr + offs, (x if not YES else x + 1) * s + t)
""",
    ),
    "an if with a test in two dimensions": (
        "x_ptr, out_ptr, n, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
if tl.max(tl.max(x, 0), 0) > 1 and n > 3:
    x = x * 2
    y = tl.sum(x, 1)
else:
    y = tl.load(x_ptr + i)
tl.store(out_ptr + i[:, None] * BN + j[None, :], x + y[:, None])
tl.store(out_ptr + 1024 + i, y)
""",
    ),
    "an early return": (
        "x_ptr, out_ptr, rows, BLOCK: tl.constexpr",
        """
pid = tl.program_id(0)
if pid >= 1:
    return
offs = tl.arange(0, BLOCK)
if rows == 0:
    tl.store(out_ptr + offs, 0.0)
    return
tl.store(out_ptr + offs, tl.load(x_ptr + offs))
""",
    ),
    "arguments that are None": (
        "x_ptr, none_ptr, out_ptr, NOTHING: tl.constexpr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
if none_ptr is not None:
    x += tl.load(none_ptr + offs)
if NOTHING is None:
    x += 1
else:
    x += NOTHING
if none_ptr is None and x_ptr is not None:
    x *= 2
tl.store(out_ptr + offs, x, mask=NOTHING)
""",
    ),
    "modes that are text": (
        "x_ptr, out_ptr, ACT: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr",
        """
offs = tl.arange(0, BLOCK)
x = tl.load(x_ptr + offs)
if ACT == "relu":
    x = tl.maximum(x, 0)
elif ACT == "exp":
    x = tl.exp(x)
else:
    tl.static_assert(False, "ACT")
x = x + 1 if MODE == 1 else x
if MODE == 1 or MODE == 2:
    x = x * 2
tl.store(out_ptr + offs, x)
""",
    ),
    "assembly": (
        "x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * BN + j[None, :])
b = tl.load(x_ptr + j)
y = tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=r,r,r", [x, b], dtype=tl.float32, is_pure=True, pack=1)
tl.store(out_ptr + i[:, None] * BN + j[None, :], y)
""",
    ),
    "strides in both orders": (
        "x_ptr, y_ptr, out_ptr, stride, one, rows, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
x = tl.load(x_ptr + i[:, None] * stride + j[None, :] * one)
y = tl.load(y_ptr + i[:, None] * one + j[None, :] * stride)
tl.store(out_ptr + (i[:, None] * stride + j[None, :]) * one, x + y, mask=i[:, None] < rows)
""",
    ),
    "a name that is a column before a loop and a vector in it": (
        "x_ptr, out_ptr, steps, YES: tl.constexpr, NO: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
acc = tl.zeros([BM, BN], tl.float32)
if NO:
    scale = tl.load(x_ptr + i)[:, None] * 2.0
for k in range(steps):
    x = tl.load(x_ptr + k + i[:, None] * BN + j[None, :])
    if YES:
        scale = tl.load(x_ptr + k + i)
        x = x * scale[:, None]
    acc += x
if NO:
    acc = acc * scale
tl.store(out_ptr + i[:, None] * BN + j[None, :], acc)
""",
    ),
    "vectors that a loop makes of each other and of a tile": (
        "x_ptr, y_ptr, out_ptr, steps, BM: tl.constexpr",
        """
i = tl.arange(0, BM)
x = tl.load(x_ptr + i[:, None] * BM + i[None, :])
a = tl.load(y_ptr + i)
b = a
for _ in range(steps):
    c = tl.sum(x * b[:, None], axis=0) + b
    a = a - c * tl.max(b * c)
    b = a + b
tl.store(out_ptr + i, tl.sum(x * a[:, None], axis=0))
""",
    ),
    # Triton's lowering of scans takes blocked layouts alone.
    "a scan of what a dot gives": (
        "x_ptr, y_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr",
        """
i, j = tl.arange(0, BM), tl.arange(0, BN)
z = tl.dot(tl.load(x_ptr + i[:, None] * BM + i[None, :]), tl.load(y_ptr + i[:, None] * BN + j[None, :]))
tl.store(out_ptr + i[:, None] * BN + j[None, :], z - tl.cumsum(z, axis=0))
""",
    ),
}

HELPERS = """
@triton.jit
def add(a, b):
    return a + b


@triton.jit
def pair(a, b, c, d):
    return a + c, b + d


@triton.jit
def relu(x):
    return tl.where(x > 0, x, 0.0)


"""

EVERY = {**SCOPES, **LOOPS, **SHAPES, **CALLS}
