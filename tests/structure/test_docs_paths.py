"""The pages for contributors name existing paths, and each page of docs/ is reachable from the index."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PLACE = re.compile(r"`([\w./-]+\.(?:def|h|cpp|c|inl|py|txt|md))`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
# A name without its folder may refer to a file in any of these.
FOLDERS = [ROOT, ROOT / "csrc", DOCS, *sorted(path for path in (ROOT / "csrc").rglob("*") if path.is_dir())]


def exists(name):
    return any((folder / name).exists() for folder in FOLDERS)


def links(page):
    return {(page.parent / target).resolve() for target in LINK.findall(page.read_text())}


@pytest.mark.parametrize("page", ["architecture.md", "adding.md", "adding_a_python_version.md", "frames.md"])
def test_files_that_a_page_names_exist(page):
    names = PLACE.findall((DOCS / page).read_text())
    # Files that a page tells the reader to create, and the names of their counterparts for another version.
    made = {"py3XX.c", "py315.c", "opcodes_315.def", "opcodes_3xx.def", "opcodes_3XX.def"}
    assert [name for name in names if Path(name).name not in made and not exists(name)] == []
    assert names


def test_the_architecture_has_every_folder():
    text = (DOCS / "architecture.md").read_text()
    folders = [path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()]
    assert [name for name in folders if f"| `{name}/` |" not in text] == []


def test_each_page_is_found_from_the_index():
    found, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md" or not page.exists():
            continue
        found.add(page)
        waiting += links(page)
    assert [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md")) if page not in found] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page):
    assert [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()] == []
