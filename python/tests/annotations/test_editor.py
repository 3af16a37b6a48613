"""The schemas in an editor: what a YAML language server says of a dbt property file and of attest.yml."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import dbt_attest.annotations

SCHEMAS = Path(dbt_attest.annotations.__file__).parent
PROPERTY_FILE = SCHEMAS / "property_file.schema.json"
RIGHT = """\
models:
  - name: orders
    config: {meta: {owner: Ann, attest: {authority: authoritative, effective_from: 2024-01-01}}}
    versions: [{v: 1, config: {meta: {attest: {definition: Net of tax}}}}]
metrics:
"""
WRONG = """\
sources:
  - name: raw
    tables:
      - name: orders
        config:
          meta:
            attest:
              authority: official
              approved_by: FILL_IN
              efective_from: 2024-01-01
"""


def said_of(text):
    """The keys that the schema refuses, as `check-jsonschema` and others would."""
    annotation = json.loads((SCHEMAS / "annotation.schema.json").read_text(encoding="utf-8"))
    registry = Registry().with_resource("annotation.schema.json", Resource.from_contents(annotation))
    validator = Draft202012Validator(json.loads(PROPERTY_FILE.read_text(encoding="utf-8")), registry=registry)
    values = yaml.load(text, Loader=yaml.BaseLoader)
    return sorted(str(error.absolute_path[-1]) for error in validator.iter_errors(values))


def test_the_schema_of_a_property_file_refers_to_the_annotation():
    assert said_of(RIGHT.replace("metrics:\n", "")) == []
    assert said_of(WRONG) == ["approved_by", "attest", "authority"]


def test_every_property_file_here_is_valid():
    files = [*Path(__file__).parents[3].glob("integration_tests/revenue/models/**/*.yml")]
    assert [file.name for file in files if said_of(file.read_text(encoding="utf-8"))] == []
    assert files


@pytest.mark.skipif(not shutil.which("yaml-language-server"), reason="needs yaml-language-server on the PATH")
@pytest.mark.parametrize("by", ["modeline", "settings"])
def test_a_language_server_checks_completes_and_explains(tmp_path, by):
    with _Server(tmp_path, settings=by == "settings") as server:
        first = f"# yaml-language-server: $schema={PROPERTY_FILE}\n" if by == "modeline" else "#\n"
        assert server.problems("models/right.yml", first + RIGHT) == []
        problems = server.problems("models/wrong.yml", first + WRONG)
        assert [line for line, _ in problems] == [8, 9, 10]
        uri = (tmp_path / "models/wrong.yml").as_uri()
        at = {"textDocument": {"uri": uri}, "position": {"line": 9, "character": 16}}
        assert "Who approved it" in json.dumps(server.ask("textDocument/hover", at))
        empty = first + WRONG.partition("              authority")[0] + "              \n"
        server.problems("models/empty.yml", empty)
        uri = (tmp_path / "models/empty.yml").as_uri()
        at = {"textDocument": {"uri": uri}, "position": {"line": 8, "character": 14}}
        offered = {one["label"] for one in server.ask("textDocument/completion", at)["items"]}
        assert {"authority", "effective_from", "approved_by", "versions"} <= offered
        if by == "settings":
            assert [line for line, _ in server.problems("attest.yml", "rules: []\nwarehous: x\n")] == [1]


class _Server:
    """The server as an editor talks to it: JSON-RPC on its standard streams."""

    def __init__(self, folder, settings):
        self.folder, self.number = folder, 0
        schemas = {
            str(PROPERTY_FILE): "models/**/*.yml",
            str(SCHEMAS / "attest_yml.schema.json"): "attest.yml",
        }
        said = {"validate": True, "completion": True, "hover": True, "schemaStore": {"enable": False}}
        self.settings = {"yaml": said | {"schemas": schemas if settings else {}}}

    def __enter__(self):
        self.process = subprocess.Popen(
            ["yaml-language-server", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        root = self.folder.as_uri()
        folders = [{"uri": root, "name": "shop"}]
        known = {"textDocument": {"hover": {}, "completion": {}}, "workspace": {"configuration": True}}
        self.ask(
            "initialize",
            {"processId": None, "rootUri": root, "capabilities": known, "workspaceFolders": folders},
        )
        self._send({"method": "initialized", "params": {}})
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": self.settings}})
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def problems(self, file, text):
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while True:
            message = self._receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                told = message["params"]
                if told["uri"] == path.as_uri():
                    return sorted(
                        (one["range"]["start"]["line"], one["message"]) for one in told["diagnostics"]
                    )

    def ask(self, method, params):
        self.number += 1
        number = self.number
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                return message["result"]

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _receive(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.process.stdout.read(1)
        message = json.loads(self.process.stdout.read(int(re.search(rb"Length: (\d+)", head)[1])))
        if message.get("method") == "workspace/configuration":
            wanted = [self.settings.get(one.get("section"), {}) for one in message["params"]["items"]]
            self._send({"id": message["id"], "result": wanted})
        elif "method" in message and "id" in message:
            self._send({"id": message["id"], "result": None})
        return message
