"""The committed schema is the schema, and graphql-core is still what `import graphql` finds."""

import subprocess
import sys

from headwater.graphql.export import TARGET, sdl


def test_the_committed_schema_is_true():
    assert TARGET.read_text(encoding="utf-8") == sdl(), "run: python -m headwater.graphql.export"


def test_our_folder_does_not_hide_graphql_core(root):
    code = "import graphql, headwater.graphql.schema; print(graphql.__file__)"
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert "site-packages" in found


def test_the_folder_has_no_init(root):
    assert not (root / "graphql" / "__init__.py").exists()
