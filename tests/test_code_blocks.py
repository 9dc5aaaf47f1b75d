"""The helper that runs the pages notices what it is there to notice.

tests/docs has pages with commands, with old code, and with code that is not run.
"""

import pytest
from code_blocks import run_page

FENCE = "```"


def page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text.replace("'''", FENCE), "utf-8")
    return path


@pytest.mark.parametrize(
    "text, error, message",
    [
        ("'''pyhton\nx = 1\n'''\n", ValueError, "Received: 'pyhton'"),
        ("'''python\nx = 1\n", ValueError, "not closed"),
        ("'''python title=\"Before\"\nx =\n'''\n", SyntaxError, "invalid syntax"),
        ("Words.\n", AssertionError, "no code"),
        ("'''sh\nfalse\n'''\n", AssertionError, "'false' ended with status 1"),
        ("'''sh\nkeras-elmo embroider\n'''\n", AssertionError, "ended with status 2.*\n.*usage"),
    ],
)
def test_no_code_is_left_out_by_mistake_or_fails_unseen(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        run_page(page(tmp_path, text), tmp_path)


def test_blocks_share_a_namespace_and_outputs_are_compared(tmp_path):
    text = """
'''python
x = 3
print("three", x)
'''

'''text title="Output"
three ...
'''

=== "Tab"

    '''python
    x + 1  # -> 4
    sum(
        [x, 2]
    )  # -> 5
    '''
"""
    assert run_page(page(tmp_path, text), tmp_path)["x"] == 3
    with pytest.raises(AssertionError, match=r"line 3: the output.*\n.*\nfour"):
        run_page(page(tmp_path, text.replace("three ...", "four")), tmp_path)
    with pytest.raises(AssertionError, match=r"line 17: the value.*\n.*\n6"):
        run_page(page(tmp_path, text.replace("-> 5", "-> 6")), tmp_path)


def test_an_error_names_the_line_of_the_page(tmp_path):
    path = page(tmp_path, "Title\n\n'''python\nx = 1\nx / 0\n'''\n")
    with pytest.raises(ZeroDivisionError) as raised:
        run_page(path, tmp_path)
    last = raised.traceback[-1]
    assert str(last.path) == str(path) and last.lineno + 1 == 5
