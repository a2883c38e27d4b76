"""Block pointers: where they are made, moved and used in a function.

`tl.make_block_ptr` and `tl.advance` are gone since Triton 3.8, so they are written out as what they stand for: a
base, a shape, strides, offsets. This package follows them through the assignments, loops and branches of one function
and decides, part by part, what a use can name directly and what has to be kept in a variable of its own.

Definitions that meet at a use form a web, which has one set of variables. A part of a web is *inline* where every
definition spells it the same way and nothing it names can change before it is used; `Web.variables` holds the names
of the others.
"""
