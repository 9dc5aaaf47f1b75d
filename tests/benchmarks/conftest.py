import json
import subprocess
import sys

import pytest
from scripts import ROOT


@pytest.fixture
def run_benchmark(tmp_path):
    """Runs a module of benchmarks: what it wrote as JSON and as Markdown, which it printed, too."""

    def run(module, *arguments, name=None, status=0):
        output = tmp_path / "results"
        command = [sys.executable, "-m", module, *map(str, arguments), "--output", str(output)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == status, result.stderr[-3000:]
        if status:
            return result.stderr
        name = name or module.partition(".")[2]
        markdown = (output / f"{name}.md").read_text()
        assert markdown.strip() in result.stdout
        return json.loads((output / f"{name}.json").read_text()), markdown

    return run
