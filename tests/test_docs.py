from __future__ import annotations

from scripts.cli_docs import PAGE, page


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "run scripts/cli_docs.py"
