"""The helper that runs the pages notices what it is there to notice."""

import pytest
from code_blocks import read_blocks, run_page

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


def test_commands_run_in_the_folder(tmp_path):
    text = """
'''sh
printf 'a b\\n' | tr a-z A-Z > words.txt   # a comment
keras-elmo \\
    --version
cat words.txt
'''

'''text
keras-elmo ...
A B
'''
"""
    run_page(page(tmp_path, text), tmp_path)
    assert (tmp_path / "words.txt").read_text() == "A B\n"


def test_what_is_marked_is_not_run(tmp_path):
    text = """
'''python title="Before: an old package"
import no_such_package
'''

<!-- not run: it needs a GPU -->
'''cuda
1 / 0
'''

'''python title="Now"
x = 1
'''
"""
    path = page(tmp_path, text)
    reasons = [block.reason for block in read_blocks(path)]
    assert reasons == ["old code", "it needs a GPU", None]
    assert run_page(path, tmp_path)["x"] == 1
