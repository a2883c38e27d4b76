"""What the tool made too long for a line is broken as a person would, and is the same program."""

import ast
import textwrap

import pytest

from tritonport.convert.long_lines import LIMIT, break_long_lines

LONG = "an_offset_of_the_rows_of_the_first_tile"


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        # The elements of a call stand one to a line where they do not fit on one.
        (
            f"gl.store(out_ptr + {LONG}, gl.convert_layout(total, out_layout), mask={LONG} < n_elements_of_all_rows)",
            f"""
            gl.store(
                out_ptr + {LONG},
                gl.convert_layout(total, out_layout),
                mask={LONG} < n_elements_of_all_rows,
            )
            """,
        ),
        # ... and together where they do.
        (
            f"{LONG} = gl.program_id(0) * BLOCK_ROWS + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, layout))",
            f"""
            {LONG} = gl.program_id(0) * BLOCK_ROWS + gl.arange(
                0, BLOCK_M, layout=gl.SliceLayout(1, layout)
            )
            """,
        ),
        # What goes on behind the longest bracket is put in brackets as a whole, and broken at its loosest operator.
        (
            f"mask = ({LONG}[:, None] < rows) & (cols_of_the_tile[None, :] < columns) & ({LONG} >= the_first) | flag",
            f"""
            mask = (
                ({LONG}[:, None] < rows)
                & (cols_of_the_tile[None, :] < columns)
                & ({LONG} >= the_first)
                | flag
            )
            """,
        ),
        # A comment goes above.
        (
            f"values = gl.load(x_ptr + {LONG} * stride_of_rows, mask={LONG} < n_rows, other=the_fill_value)  # a row",
            f"""
            # a row
            values = gl.load(
                x_ptr + {LONG} * stride_of_rows,
                mask={LONG} < n_rows,
                other=the_fill_value,
            )
            """,
        ),
        (
            f"if is_something_of({LONG}, another_argument_of_it) and is_something_else(yet_another_argument, {LONG}):",
            f"""
            if (
                is_something_of({LONG}, another_argument_of_it)
                and is_something_else(yet_another_argument, {LONG})
            ):
            """,
        ),
    ],
)
def test_long_statements(line: str, broken: str) -> None:
    text = f"def f():\n    if here:\n        {line}\n"
    if line.endswith(":"):
        text += "            pass\n"
    made = break_long_lines(text, "")
    wanted = textwrap.indent(textwrap.dedent(broken).strip(), " " * 8)
    assert wanted in made, made
    assert max(map(len, made.split("\n"))) <= LIMIT
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))


def test_lines_of_the_source_stay() -> None:
    line = f"gl.store(out_ptr + {LONG}, gl.convert_layout(total, out_layout), mask={LONG} < n_elements_of_all_the_rows)"
    assert break_long_lines(line + "\n", line + "\n") == line + "\n"


def test_a_long_line_inside_of_a_statement() -> None:
    inner = (
        f"out_ptr + {LONG}, gl.convert_layout(total, out_layout), mask={LONG} < n_elements_of_all_the_rows_there_are"
    )
    text = f"if here:\n    gl.store(\n        {inner}\n    )\n"
    parts = [f"        {part.strip()}," for part in inner.split(", ")]
    wanted = "\n".join(["if here:", "    gl.store(", parts[0], f"{parts[1][:-1]}, out_layout),", parts[3], "    )", ""])
    assert break_long_lines(text, "") == wanted


@pytest.mark.parametrize(
    "line",
    [
        'message = "' + "a string that cannot be broken " * 5 + '"',
        "x = " + "a" * 130,
        '"""' + "a docstring of one line " * 7 + '"""',
    ],
)
def test_what_cannot_be_broken_stays(line: str) -> None:
    assert break_long_lines(line + "\n", "") == line + "\n"


def test_strings_over_several_lines_stay() -> None:
    text = 'TEXT = """\n' + "f(" + "a, " * 60 + "b)\n" + '"""\n'
    assert break_long_lines(text, "") == text


def test_windows_line_ends() -> None:
    text = f"gl.store(out_ptr + {LONG}, gl.convert_layout(total, out_layout), mask={LONG} < n_elements_of_all_rows)\r\n"
    made = break_long_lines(text, "")
    assert made.count("\r\n") == made.count("\n") == 5


def test_a_condition_of_a_function_stands_on_lines_of_its_own() -> None:
    tests = " and ".join(f'args["A_FLAG_{name}"] >= 0' for name in "KLMNOPQR")
    entry = f'"a_desc": lambda args: tile_descriptor(args["a"], [args["M"], args["K"]]) if {tests} else None,'
    text = f"heuristics(\n    {{\n        {entry}\n    }}\n)\n"
    made = break_long_lines(text, "")
    assert max(map(len, made.split("\n"))) <= LIMIT
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))
    assert '\n            if args["A_FLAG_K"] >= 0\n            and args["A_FLAG_L"] >= 0\n' in made


@pytest.mark.parametrize(
    "text",
    [
        # The source has it on two lines, of which neither is an expression.
        "gl.atomic_add(out_ptr + gl.arange(0, BLOCK,\n"
        f"    layout=row_layout)[None, :] + {LONG} * {LONG}, total, mask={LONG})\n",
        f"x = (a +\n     first({LONG}, gl.SliceLayout(0, layout))[:, None] * second({LONG}, {LONG})[None, :])\n",
        f"def f(a, b,\n      {LONG}_a, {LONG}_b, {LONG}_c, d):\n    pass\n",
        "gl.store(\n"
        f"    out_ptr, gl.where(here & gl.convert_layout({LONG}, layout)[None, :], {LONG} - {LONG}, 0), mask=m\n)\n",
    ],
)
def test_a_statement_on_several_lines_is_laid_out_anew(text: str) -> None:
    made = break_long_lines(text, "")
    assert max(map(len, text.split("\n"))) > LIMIT
    assert max(map(len, made.split("\n"))) <= LIMIT
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))


def test_a_comment_in_a_statement_on_several_lines_stays() -> None:
    text = (
        "gl.store(out_ptr + gl.arange(0, BLOCK,  # why\n"
        f"    layout=row_layout)[None, :] + {LONG} * {LONG}, total, mask={LONG})\n"
    )
    assert max(map(len, text.split("\n"))) > LIMIT
    assert break_long_lines(text, "") == text
