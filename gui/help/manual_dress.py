"""The look of a manual page: Qt's rendering of its Markdown, in the sizes and colours of the design."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)

from gui.style import theme
from resources import manual

MARGIN = 24  # around the page
CODE = 12  # between the edge of a block of code and its text
_PROSE, _IN_TABLE, _IN_CODE = 21, 18, 18  # line heights; fixed, because words in fixed width are higher than others
_SIZES = {1: 16, 2: 13, 3: 13}
_ABOVE = {1: 0, 2: 28, 3: 20}
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


def dress(document: QTextDocument) -> None:
    """Give a document, made from Markdown, the fonts, colours and distances of the theme in force."""
    document.setDefaultFont(theme.font(13))
    document.setDocumentMargin(theme.px(MARGIN))
    document.setIndentWidth(theme.px(20))
    all_of_it = QTextCursor(document)
    all_of_it.beginEditBlock()  # laid out once: a table laid out again for every cell takes half a second
    for block in blocks(document):
        cursor = QTextCursor(block)
        cursor.setBlockFormat(_block_format(block, cursor.currentTable()))
        for start, end, old in _runs(block):
            if old.isImageFormat():
                continue
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(_char_format(block, old, cursor.currentTable()))
    for table in (each for each in document.rootFrame().childFrames() if isinstance(each, QTextTable)):
        _dress_table(table)
    all_of_it.endEditBlock()


def blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    """The paragraphs, headings, cells and lines of code, from the first to the last."""
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def is_code(block: QTextBlock) -> bool:
    """Whether a block is a line of a block of code."""
    return block.isValid() and block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence.value)


def _runs(block: QTextBlock) -> list[tuple[int, int, QTextCharFormat]]:
    """The stretches of a block, each in one format."""
    found = []
    at = block.begin()
    while not at.atEnd():
        part = at.fragment()
        found.append((part.position(), part.position() + part.length(), part.charFormat()))
        at += 1
    return found


def _block_format(block: QTextBlock, table: QTextTable | None) -> QTextBlockFormat:
    made = QTextBlockFormat(block.blockFormat())
    made.clearProperty(QTextFormat.Property.BlockNonBreakableLines.value)
    level = made.headingLevel()
    above, below, side, line = 4, 6, 0, _PROSE
    if is_code(block):
        above = 0 if is_code(block.previous()) else 6 + CODE
        below = 0 if is_code(block.next()) else 10 + CODE
        side = CODE
        line = _IN_CODE
    elif level:
        above, below = _ABOVE.get(level, 20), 6
    elif table is not None:
        above = below = 0
        line = _IN_TABLE
    elif block.textList() is not None:
        above, below = 1, 3 if block.next().textList() is not None else 8
    made.setTopMargin(theme.px(above))
    made.setBottomMargin(theme.px(below))
    made.setLeftMargin(theme.px(side))
    made.setRightMargin(theme.px(side))
    if not any(format.isImageFormat() for _, _, format in _runs(block)):
        made.setLineHeight(theme.px(line), _FIXED)
    if table is None and not block.text() and not is_code(block):  # Qt needs an empty one behind each table
        made.setLineHeight(1, _FIXED)
        made.setTopMargin(0)
        made.setBottomMargin(0)
    return made


def _char_format(block: QTextBlock, old: QTextCharFormat, table: QTextTable | None) -> QTextCharFormat:
    level = block.blockFormat().headingLevel()
    made = QTextCharFormat()
    bold = old.fontWeight() > QFont.Weight.Normal.value
    head = table is not None and table.cellAt(block.position()).row() == 0
    weight = 600 if level or bold or head else 400
    if old.fontFixedPitch() or is_code(block):
        made.setFont(theme.mono(11 if head else 12, weight))
        if not is_code(block) and not head:
            made.setBackground(theme.colour("typT"))
    else:
        made.setFont(theme.font(_SIZES.get(level, 11 if head else 13), weight))
    made.setForeground(theme.colour("text3" if head else "text2" if level > 2 else "text"))
    if old.isAnchor():
        made.setAnchor(True)
        made.setAnchorHref(old.anchorHref())
        made.setForeground(theme.colour("acc"))
        made.setFontUnderline(True)
    if level:
        made.setAnchor(True)
        made.setAnchorNames([manual.anchor(block.text())])
    return made


def _dress_table(table: QTextTable) -> None:
    form = table.format()
    form.setBorder(0)
    form.setBorderCollapse(True)
    form.setCellSpacing(0)
    form.setCellPadding(0)
    form.setTopMargin(theme.px(6))
    form.setBottomMargin(theme.px(10))
    form.setWidth(QTextLength(QTextLength.Type.PercentageLength, 99.5))  # Qt rounds the width of each column up
    table.setFormat(form)
    for row in range(table.rows()):
        for column in range(table.columns()):
            cell = table.cellAt(row, column)
            look = cell.format().toTableCellFormat()
            look.setTopPadding(theme.px(5))
            look.setBottomPadding(theme.px(5))
            look.setLeftPadding(0 if column == 0 else theme.px(8))
            look.setRightPadding(theme.px(8))
            look.setBottomBorder(1)
            look.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            look.setBottomBorderBrush(theme.colour("border"))
            cell.setFormat(look)
