"""U3: how many bytes a browser loads for the first page."""

from urllib.parse import urlparse

import pytest
from playwright.sync_api import expect

from project import project_files

MOST_BYTES = 150_000
"""Of HTML, JavaScript and CSS, compressed."""

BUILT = project_files.ROOT / "src" / "allstop" / "_web"


@pytest.mark.parametrize("where", ["home", "board"])
def test_u3_the_first_load_is_small(where, visit, scene):
    here = visit()
    page = here.context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(urlparse(request.url).path))
    page.goto(f"{scene.url}/#/{where}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("list", name="At a glance")).to_contain_text("2 running")

    names = {path.lstrip("/") or "index.html" for path in asked if "/api/" not in path}
    names |= {f"assets/{file.name}" for file in (BUILT / "assets").glob("event-bus.worker-*.js")}
    sizes = {name: (BUILT / f"{name}.gz").stat().st_size for name in names}
    assert any(name.endswith(".js") for name in sizes)
    assert any(name.endswith(".css") for name in sizes)
    assert any("worker" in name for name in sizes)
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    assert "/api/v1/settings" not in asked  # the longest response, which few pages need
