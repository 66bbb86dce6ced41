"""The least workbook that spreadsheet programs read, written without one."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
Cell = str | float | bool | None


def _cell(row: int, column: int, entry: Cell) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if entry is None:
        return ""
    if isinstance(entry, bool):
        return f'<c r="{place}" t="b"><v>{int(entry)}</v></c>'
    if isinstance(entry, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(entry)}</t></is></c>'
    return f'<c r="{place}"><v>{entry}</v></c>'


def _sheet(rows: Sequence[Sequence[Cell]]) -> str:
    lines = "".join(
        f'<row r="{r}">{"".join(_cell(r, c, entry) for c, entry in enumerate(row))}</row>'
        for r, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'


def write_workbook(path: str, sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> None:
    numbered = list(enumerate(sheets.items(), 1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{k}.xml" '
            f'ContentType="{_TYPE}.worksheet+xml"/>'
            for k, _ in numbered
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        + "".join(
            f'<sheet name="{escape(name)}" sheetId="{k}" r:id="r{k}"/>' for k, (name, _) in numbered
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="r{k}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k, _ in numbered
        )
        + "</Relationships>",
        **{f"xl/worksheets/sheet{k}.xml": _sheet(rows) for k, (_, rows) in numbered},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
