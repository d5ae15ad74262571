// Invisible characters that can disguise text: each is replaced by its code point.

/** Direction marks, zero-width characters, soft hyphens, tags. */
const INVISIBLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Zero-width joiners inside an emoji sequence are legitimate. */
const JOINED_EMOJI = /(?<=\p{Extended_Pictographic}\ufe0f?)\u200d(?=\p{Extended_Pictographic})/gu
const KEEP = '\u{f0000}'

export function mark(character: string): string {
  const point = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  return `⟨U+${point}⟩`
}

export function showHidden(text: string): string {
  return text
    .replaceAll(KEEP, '\ufffd')
    .replace(JOINED_EMOJI, KEEP)
    .replace(INVISIBLE, mark)
    .replaceAll(KEEP, '\u200d')
}

/** For lines of a file: also control characters, except tabs and a final carriage return. */
export function showAll(text: string): string {
  return showHidden(text).replace(/[\0-\x08\n-\x0c\x0e-\x1f\x7f-\x9f]|\r(?!$)/g, mark)
}
