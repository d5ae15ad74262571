// Markdown of agents as safe HTML: no raw HTML, no pictures, no scripts, no terminal codes, and
// links only to web and mail addresses.

import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { plain } from './terminal-text'

const TAGS = [
  ...['a', 'blockquote', 'br', 'code', 'del', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol'],
  ...['p', 'pre', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
]
const LINKS = /^(?:https?|mailto):/i
/** A link opens in a new tab and sends no referrer. */
const NEW_TAB = 'rel="noopener noreferrer nofollow" target="_blank"'

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => escaped(`[picture: ${text || href}]`),
    heading({ tokens, depth }) {
      // Headings of a message rank below the page's own.
      const level = Math.min(6, depth + 2)
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`
    },
    link({ tokens, href }) {
      const words = this.parser.parseInline(tokens)
      return LINKS.test(href) ? `<a href="${escaped(href)}" ${NEW_TAB}>${words}</a>` : words
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
