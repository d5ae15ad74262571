// The machines of a fleet as rows, and their figures in words.

import type { MachineList, MachineProcess } from './api-types'

export interface MachineRow {
  key: string
  name: string
  host: string
  process: MachineProcess
  /** Slots without work; 0 for a process that has none. */
  free: number
}

/** Workers first, then the rest; by name. */
export function machineRows(list: MachineList): MachineRow[] {
  const rows = list.machines.flatMap(({ name: host, processes }) =>
    processes.map((process) => ({
      key: process.id || `${host} ${process.pid}`,
      name: process.name || host,
      host,
      process,
      free: Math.max(0, process.slots - process.work.length),
    })),
  )
  const rank = (row: MachineRow) => (row.process.role === 'worker' ? 0 : 1)
  return rows.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

export interface MachineSums {
  slots: number
  used: number
  machines: number
  lost: number
}

/** Lost workers offer no slots, and those that are drained only what they still do. */
export function machineSums(rows: readonly MachineRow[]): MachineSums {
  const workers = rows.filter(({ process }) => process.slots > 0)
  const heard = workers.filter(({ process }) => process.state !== 'lost')
  const used = heard.reduce((sum, { process }) => sum + process.work.length, 0)
  const open = heard.filter(({ process }) => process.state === 'online')
  const free = open.reduce((sum, row) => sum + row.free, 0)
  return {
    slots: used + free,
    used,
    machines: new Set(heard.map(({ host }) => host)).size,
    lost: workers.length - heard.length,
  }
}

/** "14 G" */
export function gigabytes(bytes: number): string {
  const number = bytes / 2 ** 30
  return `${number < 10 ? number.toFixed(1) : Math.round(number)} G`
}
