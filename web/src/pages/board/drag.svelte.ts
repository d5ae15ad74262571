// Moving a card with the pointer: where it is, and over which column.

export interface Dragged {
  title: string
  x: number
  y: number
  over: string
}

/** How far the pointer must move before a click becomes a drag. */
const FAR_PX = 6

export class Drag {
  now = $state.raw<Dragged>()

  /** Follow the pointer until it is let go; `drop` is told the column, if there was one. */
  begin(event: PointerEvent, title: string, drop: (column: string) => void): void {
    // A finger scrolls; on a phone the same is done by the card's commands.
    if (event.button !== 0 || event.pointerType === 'touch') return
    const end = new AbortController()
    const { signal } = end
    const from = { x: event.clientX, y: event.clientY }

    const move = ({ clientX: x, clientY: y }: PointerEvent) => {
      if (!this.now && Math.hypot(x - from.x, y - from.y) < FAR_PX) return
      this.now = { title, x, y, over: columnAt(x, y) }
    }
    const done = (over: string) => {
      const wasDragged = this.now !== undefined
      this.now = undefined
      end.abort()
      if (wasDragged) swallowClick()
      if (wasDragged && over) drop(over)
    }
    addEventListener('pointermove', move, { signal })
    addEventListener('pointerup', ({ clientX, clientY }) => done(columnAt(clientX, clientY)), {
      signal,
    })
    addEventListener('pointercancel', () => done(''), { signal })
    addEventListener('keydown', ({ key }) => key === 'Escape' && done(''), { signal })
  }
}

function columnAt(x: number, y: number): string {
  const under = document.elementFromPoint(x, y)
  return under?.closest<HTMLElement>('[data-column]')?.dataset.column ?? ''
}

/** The click that ends a drag opens nothing. */
function swallowClick(): void {
  const swallow = (event: Event) => event.preventDefault()
  addEventListener('click', swallow, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', swallow, { capture: true }), 0)
}
