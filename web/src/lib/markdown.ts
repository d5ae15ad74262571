// What agents write, as HTML that can do nothing: no raw HTML, no pictures, no scripts, no commands
// of a terminal, and links only to places a person may want to open.

import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { plain } from './terminal'

const TAGS = [
  ...['a', 'blockquote', 'br', 'code', 'del', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol'],
  ...['p', 'pre', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
]
const LINKS = /^(?:https?|mailto):/i
/** A link opens beside the page and tells nobody where it was. */
const ELSEWHERE = 'rel="noopener noreferrer nofollow" target="_blank"'

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => escaped(`[picture: ${text || href}]`),
    heading({ tokens, depth }) {
      // A message's headings stand below the page's own.
      const level = Math.min(6, depth + 2)
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`
    },
    link({ tokens, href }) {
      const words = this.parser.parseInline(tokens)
      return LINKS.test(href) ? `<a href="${escaped(href)}" ${ELSEWHERE}>${words}</a>` : words
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
})

export function html(markdown: string): TrustedText {
  const parsed = marked.parse(plain(markdown), { async: false })
  return DOMPurify.sanitize(parsed, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'rel', 'target', 'start', 'align'],
    ALLOWED_URI_REGEXP: LINKS,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_TRUSTED_TYPE: true,
  }) as unknown as TrustedText
}

/** A TrustedHTML where browsers have it. */
export type TrustedText = string & { readonly trusted: unique symbol }

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
