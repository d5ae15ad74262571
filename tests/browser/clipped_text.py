"""Text that can't be read because it is cut at the window's edge."""

# The page's frame hides wider content, so the width of the document is no measure.
_CLIPPED = r"""() => {
  const isReachable = (it) => {
    const { overflowX, textOverflow, clipPath, webkitLineClamp } = getComputedStyle(it)
    return (
      (/auto|scroll/.test(overflowX) && it.tagName !== 'MAIN') ||
      textOverflow === 'ellipsis' ||
      clipPath !== 'none' ||
      webkitLineClamp !== 'none'
    )
  }
  const found = new Set()
  const range = document.createRange()
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text; (text = texts.nextNode());) {
    if (!text.data.trim()) continue
    range.selectNodeContents(text)
    const isOver = [...range.getClientRects()].some(
      ({ left, right, width }) => width > 1 && (right > innerWidth + 1 || left < -1),
    )
    let it = isOver ? text.parentElement : null
    while (it && !isReachable(it)) it = it.parentElement
    if (isOver && !it) found.add(text.data.trim().slice(0, 60))
  }
  return [...found]
}"""


def clipped(page):
    """The starts of all cut texts. Elements that scroll, or that end in an ellipsis, don't count."""
    return page.evaluate(_CLIPPED)
