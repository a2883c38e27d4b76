"""What the README and the pages of docs/ show is what the code does."""

import re
from pathlib import Path

import pytest

from tritonport.config import CONFIG_KEYS
from tritonport.convert import ConvertOptions, convert_text
from tritonport.rules_data import load_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def example(kind: str) -> tuple[Path, str]:
    """The file and the code of the block after `<!-- before: FILE -->` or `<!-- after: FILE -->`."""
    match = re.search(rf"<!-- {kind}: (\S+) -->\n```python\n(.*?)```", README, re.DOTALL)
    assert match is not None
    return ROOT / match[1], match[2]


def test_the_example_is_a_real_one() -> None:
    file, before = example("before")
    text = file.read_text()
    assert before in text
    file, after = example("after")
    assert after in convert_text(text, path=str(file), options=ConvertOptions()).text


def test_the_example_of_a_stage_is_what_stands_in_its_golden() -> None:
    file, loop = example("stage mma")
    assert loop in (file.parent / "expected" / "mma.py").read_text()


def test_the_two_commands_are_scripts_and_ci_runs_the_second() -> None:
    for command in ("bash scripts/demo.sh", "bash scripts/test.sh"):
        assert f"```console\n{command}\n```" in README
        assert (ROOT / command.removeprefix("bash ")).is_file()
    assert "exec bash scripts/test.sh\n" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_codes_and_commands_exist(page: Path) -> None:
    text = page.read_text()
    for code in set(re.findall(r"\bTP\d{3}\b", text)):
        assert load_page(code).code == code
    files = {path.stem.replace("_", "-") for path in (ROOT / "tritonport" / "cli").glob("[!_]*.py")}
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command in re.findall(r"^tritonport ([a-z-]+)", block, re.MULTILINE):
            assert command in files


def test_every_configuration_key_is_documented() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == CONFIG_KEYS
