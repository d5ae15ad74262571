"""Pages that don't fit the window: text that is cut at its edge, and empty room below."""

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


def room_below(page):
    """By how many pixels the document is longer than the window; only parts of the page scroll."""
    return page.evaluate("document.documentElement.scrollHeight - innerHeight")
