"""Pictures of the participant's page for the docs: ``python -m tests.browser.pictures``."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from .collector import Visit, serving, visiting
from .conftest import ABOUT, MANY, MENU

FOLDER = Path(__file__).parents[2] / "docs" / "img" / "service"
WIDTHS = {360: 800, 1280: 900}


def main() -> None:
    """Ask, review and receipt at both widths, light and dark; and a study of several questions."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for study, name in ((MENU, "menu"), (MANY, "several")):
            with serving(study, ABOUT, Path(folder) / name) as served:
                for width, height in WIDTHS.items():
                    for scheme in ("light", "dark"):
                        look = {"viewport": {"width": width, "height": height}}
                        with visiting(chromium, served, color_scheme=scheme, **look) as visit:
                            shoot(visit, name, f"{width}-{scheme}")
        chromium.close()


def shoot(visit: Visit, name: str, look: str) -> None:
    """The pictures of one visit."""
    from PIL import Image

    def picture(what: str) -> None:
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        path = FOLDER / f"participant-{what}-{look}.png"
        shot.quantize(48, dither=Image.Dither.NONE).save(path, optimize=True)

    page = visit.open()
    page.get_by_role("button", name="Randomise my answers").wait_for()
    if name == "several":
        for label in ("Bus", "Taxi"):
            page.get_by_label(label).check()
        page.get_by_label("How much privacy do you want?").last.fill("1")
        page.get_by_text("Divide it yourself").click()
        picture("several")
        return
    page.get_by_label("Bicycle").check()
    page.get_by_label("How much privacy do you want?").fill("1")
    picture("question")
    page.get_by_role("button", name="Randomise my answers").click()
    page.get_by_text("The same in bytes").click()
    picture("report")
    page.get_by_role("button", name="Send this report").click()
    page.get_by_role("heading", name="your report has arrived").wait_for()
    picture("receipt")


if __name__ == "__main__":
    main()
