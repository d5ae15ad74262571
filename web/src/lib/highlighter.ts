// Syntax colours: code as pieces of text, each with the name of its colour; no HTML is made.

import hljs from 'highlight.js/lib/core'
import type { Emitter, LanguageFn } from 'highlight.js'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

/** A part of a line in one colour; `''` is that of plain text. */
export interface Piece {
  colour: Colour
  text: string
}

export type Colour = '' | 'comment' | 'keyword' | 'text' | 'number' | 'name'

const LANGUAGES: Record<string, LanguageFn> = {
  bash, c, cpp, csharp, css, go, ini, java, javascript, json, kotlin, markdown, php, python, ruby,
  rust, sql, swift, typescript, xml, yaml,
} // prettier-ignore

const BY_ENDING: Record<string, string> = {
  bash: 'bash', sh: 'bash', zsh: 'bash', bats: 'bash',
  c: 'c', h: 'c', cc: 'cpp', cpp: 'cpp', cxx: 'cpp', hpp: 'cpp', cs: 'csharp',
  css: 'css', scss: 'css', go: 'go', ini: 'ini', cfg: 'ini', toml: 'ini', java: 'java',
  js: 'javascript', jsx: 'javascript', mjs: 'javascript', cjs: 'javascript',
  json: 'json', jsonl: 'json', kt: 'kotlin', kts: 'kotlin', md: 'markdown', php: 'php',
  py: 'python', pyi: 'python', rb: 'ruby', rs: 'rust', sql: 'sql', swift: 'swift',
  ts: 'typescript', tsx: 'typescript', mts: 'typescript', cts: 'typescript',
  html: 'xml', svelte: 'xml', svg: 'xml', vue: 'xml', xml: 'xml', yaml: 'yaml', yml: 'yaml',
} // prettier-ignore

const COLOURS: Record<string, Colour> = {
  comment: 'comment', quote: 'comment', doctag: 'comment', keyword: 'keyword', operator: 'keyword',
  'selector-tag': 'keyword', literal: 'number', number: 'number', symbol: 'number', string: 'text',
  regexp: 'text', code: 'text', title: 'name', section: 'name', name: 'name', attr: 'name',
  attribute: 'name', property: 'name', type: 'name', built_in: 'name', meta: 'keyword',
} // prettier-ignore

/** More code at once would block the page. */
const MOST_CHARS = 200_000

/** Collects pieces instead of HTML. */
class Pieces implements Emitter {
  found: Piece[] = []
  #scopes: string[] = []

  addText(text: string): void {
    const known = this.#scopes.findLast((scope) => scope in COLOURS)
    this.found.push({ colour: known ? COLOURS[known]! : '', text })
  }

  // The library calls both pairs; its types name only the second.
  openNode(scope: string): void {
    this.#scopes.push(scope.split('.')[0]!)
  }

  closeNode(): void {
    this.#scopes.pop()
  }

  startScope(scope: string): void {
    this.openNode(scope)
  }

  endScope(): void {
    this.closeNode()
  }

  __addSublanguage(emitter: Emitter): void {
    if (emitter instanceof Pieces) this.found.push(...emitter.found)
  }

  finalize(): void {
    this.#scopes = []
  }

  toHTML(): string {
    return ''
  }
}

const highlighter = hljs.newInstance()
highlighter.configure({ __emitter: Pieces })
for (const [name, language] of Object.entries(LANGUAGES))
  highlighter.registerLanguage(name, language)

export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  if (name === 'dockerfile' || name === 'makefile') return 'bash'
  return BY_ENDING[name.slice(name.lastIndexOf('.') + 1)]
}

/** Each line of the code as its pieces; undefined if it is too long or its language unknown. */
export function highlightLines(code: string, path: string): Piece[][] | undefined {
  const language = languageOf(path)
  if (!language || code.length > MOST_CHARS) return undefined
  const result = highlighter.highlight(code, { language, ignoreIllegals: true })
  return intoLines((result._emitter as Pieces).found)
}

function intoLines(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]]
  for (const { colour, text } of pieces) {
    for (const [at, part] of text.split('\n').entries()) {
      if (at) lines.push([])
      const line = lines.at(-1)!
      const last = line.at(-1)
      if (last?.colour === colour) last.text += part
      else if (part) line.push({ colour, text: part })
    }
  }
  return lines
}
