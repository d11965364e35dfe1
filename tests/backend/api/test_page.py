"""The page: its files are open, the page itself is for who came by the link, and its routes are its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headwater.backend.app import create_app
from headwater.backend.home.settings import load_settings


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Headwater</title>the page")
    (folder / "assets" / "index-1.js").write_text("script")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    return folder


@pytest.fixture
def browser(tmp_path: Path, page: Path) -> Iterator[TestClient]:
    app = create_app(load_settings(home=tmp_path / "home"), built_page=page)
    with TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False) as client:
        yield client


@pytest.fixture
def known(browser: TestClient) -> TestClient:
    """A browser that came by the link."""
    ticket = browser.app.state.service.credentials.ticket()  # type: ignore[attr-defined]  # the type of `app` is any ASGI callable
    assert browser.get(f"/?ticket={ticket}").status_code == 303
    return browser


def test_the_page_is_its_index(known: TestClient) -> None:
    for path in ("/", "/?dataset=x", "/index.html"):
        response = known.get(path)
        assert (response.status_code, response.text) == (200, "<title>Headwater</title>the page"), path
        assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "location"),
    [("/dataset/a.b?dataset=x&row=1", "../?dataset=x&row=1"), ("/trace?dataset=x", "./?dataset=x"), ("/a/b/c/", "../../../")],
)
def test_the_page_is_shown_where_it_finds_its_files(known: TestClient, path: str, location: str) -> None:
    response = known.get(path, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, location)


def test_files_are_open_and_kept_by_the_browser(browser: TestClient) -> None:
    response = browser.get("/assets/index-1.js")
    assert (response.text, "immutable" in response.headers["cache-control"]) == ("script", True)


def test_who_did_not_come_by_the_link_is_told_how(browser: TestClient) -> None:
    response = browser.get("/")
    assert response.status_code == 401
    assert "headwater serve" in response.text
    assert "the page" not in response.text.replace("opens the page", "")


@pytest.mark.parametrize("path", ["/assets/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/out", "//secret.txt"])
def test_nothing_outside_the_folder_is_served(known: TestClient, path: str) -> None:
    assert "secret" not in known.get(path).text


@pytest.mark.parametrize("path", ["/assets/gone.js", "/api/v1/nothing", "/api"])
def test_what_is_not_there_is_not_the_index(known: TestClient, path: str) -> None:
    assert known.get(path).status_code == 404


def test_a_service_without_a_page_says_so(tmp_path: Path) -> None:
    app = create_app(load_settings(home=tmp_path / "home"), built_page=tmp_path / "none")
    with TestClient(app, base_url="http://localhost") as client:
        response = client.get("/", headers={"X-Api-Key": app.state.service.settings.key()})
    assert response.status_code == 200
    assert "has not been built" in response.text
