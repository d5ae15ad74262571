// Dragging a card with the pointer: its position, column and index.

export interface Dragged {
  title: string
  /** The column it came from. */
  from: string
  x: number
  y: number
  over: string
  /** The index in the column where it would be put. */
  at: number
}

/** The height of a card with the gap below it. */
export const CARD_PX = 100

/** How far the pointer must move before a press becomes a drag. */
const FAR_PX = 6

export class Drag {
  now = $state.raw<Dragged>()

  /** Follows the pointer until it is released; calls `drop` if that is over a column. */
  begin(
    event: PointerEvent,
    card: Pick<Dragged, 'title' | 'from'>,
    drop: (column: string, at: number) => void,
  ): void {
    // A finger scrolls; on a phone the task's page has buttons instead.
    if (event.button !== 0 || event.pointerType === 'touch') return
    const end = new AbortController()
    const { signal } = end
    const from = { x: event.clientX, y: event.clientY }

    const move = ({ clientX: x, clientY: y }: PointerEvent) => {
      if (!this.now && Math.hypot(x - from.x, y - from.y) < FAR_PX) return
      this.now = { ...card, x, y, ...placeAt(x, y) }
    }
    const done = ({ over, at }: Place) => {
      const wasDragged = this.now !== undefined
      this.now = undefined
      end.abort()
      if (wasDragged) swallowClick()
      if (wasDragged && over) drop(over, at)
    }
    addEventListener('pointermove', move, { signal })
    addEventListener('pointerup', ({ clientX, clientY }) => done(placeAt(clientX, clientY)), {
      signal,
    })
    addEventListener('pointercancel', () => done(NOWHERE), { signal })
    addEventListener('keydown', ({ key }) => key === 'Escape' && done(NOWHERE), { signal })
  }
}

type Place = Pick<Dragged, 'over' | 'at'>

const NOWHERE: Place = { over: '', at: 0 }

function placeAt(x: number, y: number): Place {
  const column = document.elementFromPoint(x, y)?.closest<HTMLElement>('[data-column]')
  if (!column) return NOWHERE
  const cards = column.querySelector('[role=list]')
  const within_px = cards ? y - cards.getBoundingClientRect().top + cards.scrollTop : 0
  return { over: column.dataset.column ?? '', at: Math.max(0, Math.round(within_px / CARD_PX)) }
}

/** The click at the end of a drag must not open the card. */
function swallowClick(): void {
  const swallow = (event: Event) => event.preventDefault()
  addEventListener('click', swallow, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', swallow, { capture: true }), 0)
}
