import { expect, test } from 'vitest'
import type { MachineList, MachineProcess } from './api-types'
import { gigabytes, machineRows, machineSums } from './machines'

const NOBODY: MachineProcess = {
  id: '',
  pid: 1,
  command: 'allstop worker',
  since: '2026-01-01T00:00:00Z',
  runs: [],
  here: false,
  name: '',
  state: 'online',
  role: 'worker',
  version: '',
  labels: [],
  slots: 4,
  drained_by: '',
  heard_s: 1,
  elsewhere_in_s: null,
  load: { cpu: null, memory_used: null, memory_total: null, disk_free: null, disk_total: null },
  work: [],
}

const WORK = { run: 'board/T1.1', label: 'T1', title: 'x', agent: '', doing: '', since: '' }

function list(...processes: Partial<MachineProcess>[]): MachineList {
  const machines = processes.map((process, at) => ({
    name: `host${at}`,
    processes: [{ ...NOBODY, ...process }],
  }))
  return { machines, shared: true, ready: 0 }
}

test('workers come first, by name', () => {
  const rows = machineRows(list({ role: 'control room', slots: 0 }, { name: 'b' }, { name: 'a' }))

  expect(rows.map(({ name }) => name)).toEqual(['a', 'b', 'host0'])
})

test('a lost worker has no slots, and a drained one only those at work', () => {
  const rows = machineRows(
    list(
      { work: [WORK] },
      { state: 'lost', work: [WORK] },
      { state: 'draining', work: [WORK, WORK] },
    ),
  )

  expect(machineSums(rows)).toEqual({ slots: 6, used: 3, machines: 2, lost: 1 })
})

test('sizes are in gigabytes', () => {
  expect([1.5 * 2 ** 30, 31.4 * 2 ** 30].map(gigabytes)).toEqual(['1.5 G', '31 G'])
})
