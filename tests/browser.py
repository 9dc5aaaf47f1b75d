"""A page in a headless Chromium, through its DevTools protocol."""

import asyncio
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request

import pytest

# All text that the page shows, also in its frames and shadow roots.
TEXT = """
(() => {
  const texts = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.textContent.trim());
    if (["STYLE", "SCRIPT"].includes(node.nodeName)) return;
    if (node.shadowRoot) walk(node.shadowRoot);
    if (node.contentDocument) walk(node.contentDocument);
    node.childNodes.forEach(walk);
  };
  walk(document);
  return texts.filter((text) => text).join("\\n");
})()
"""


class Page:
    """An open page.

    Args:
        address: of its DevTools, a WebSocket.
    """

    def __init__(self, address):
        self.address = address

    def text_with(self, part, seconds=120):
        """The page's text, as soon as it holds `part`."""
        end = time.monotonic() + seconds
        text = ""
        while part not in text:
            assert time.monotonic() < end, f"The page shows no {part!r}, but: {text}"
            time.sleep(1)
            text = asyncio.run(self._evaluate(TEXT))
        return text

    async def _evaluate(self, script):
        from tornado.websocket import websocket_connect

        socket = await websocket_connect(self.address, max_message_size=2**26)
        options = {"expression": script, "returnByValue": True}
        message = {"id": 1, "method": "Runtime.evaluate", "params": options}
        await socket.write_message(json.dumps(message))
        answer = json.loads(await socket.read_message())
        socket.close()
        return answer["result"]["result"]["value"]


@contextlib.contextmanager
def open_page(url, profile):
    """Opens a page; the test is skipped where there is no Chromium.

    Args:
        url: string.
        profile: path of a folder that the browser may fill.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("there is no Chromium")
    command = [program, "--headless", "--no-sandbox", f"--user-data-dir={profile}"]
    command += ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # WebGL without a GPU
    command += ["--remote-debugging-port=0", url]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            port_file = profile / "DevToolsActivePort"
            while not port_file.exists() or not port_file.read_text():
                assert process.poll() is None, f"{program} ended with status {process.returncode}"
                time.sleep(0.1)
            port = port_file.read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=60) as response:
                pages = json.load(response)
            (address,) = [p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page"]
            yield Page(address)
        finally:
            process.terminate()
